#!/usr/bin/env python3
"""Recomputes every stage of a dump from X and the weights in float64, and compares: check_dump.py PROGRAM

Nothing here is shared with the program: the formulas are those of the literature, the arrays are what numpy loads.
Exit status: 0 all agree, 1 something differs, 77 skipped (no numpy)."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy cannot be imported")
    sys.exit(77)

TOLERANCE = 1e-5  # of the largest entry of the array, at least 1e-3
TEXT = "The cat sat on the mat"


def heads_of(matrix, heads):
    """(n, heads*d) -> (heads, n, d)"""
    n, width = matrix.shape
    return matrix.reshape(n, heads, width // heads).transpose(1, 0, 2)


def rope(q):
    """Half-split pairs (i, i + d/2), theta 10000 (Su et al. 2021, in the layout of Llama checkpoints)."""
    heads, n, d = q.shape
    angle = np.arange(n)[:, None] * 10000.0 ** (-2.0 * np.arange(d // 2) / d)[None, :]
    a, b = q[..., : d // 2], q[..., d // 2:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)


def softmax(s):
    """Over keys; a row that is closed everywhere is all zero."""
    top = np.max(s, axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0.0))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def recompute(x, y, w, heads, kv_heads, case):
    """All stages of one layer as a dict, from X (n, d), Y (m, d) and the weights."""
    def bias(name, width):
        return w.get(name, np.zeros(width))

    stage = {}
    for name, source in (("Q", x), ("K", y), ("V", y)):
        stage["projection_" + name.lower()] = source @ w["W_" + name] + bias("b_" + name, w["W_" + name].shape[1])
    stage["q"] = heads_of(stage["projection_q"], heads)
    stage["k"] = heads_of(stage["projection_k"], kv_heads)
    stage["v"] = heads_of(stage["projection_v"], kv_heads)
    if case.get("position") == "rope":
        stage["q"], stage["k"] = rope(stage["q"]), rope(stage["k"])
    group = heads // kv_heads
    k, v = np.repeat(stage["k"], group, axis=0), np.repeat(stage["v"], group, axis=0)
    n, m, d_k, d_v = x.shape[0], y.shape[0], k.shape[2], v.shape[2]
    i, j = np.arange(n)[:, None], np.arange(m)[None, :]

    stage["scores"] = stage["q"] @ k.transpose(0, 2, 1)
    stage["scaled"] = stage["scores"] / np.sqrt(d_k)
    if case.get("position") == "alibi":
        slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
        stage["scaled"] = stage["scaled"] - slopes[:, None, None] * np.abs(i - j)
    allowed = case.get("open", lambda row, col: np.ones((n, m), dtype=bool))(i, j)
    stage["masked"] = np.where(allowed, stage["scaled"], -np.inf)
    stage["weights"] = softmax(stage["masked"] / case.get("temperature", 1.0))
    stage["head_output"] = stage["weights"] @ v

    on = np.ones(heads)
    on[case.get("off", [])] = 0.0
    w_o = w["W_O"].reshape(heads, d_v, -1)
    stage["concat"] = (stage["head_output"] * on[:, None, None]).transpose(1, 0, 2).reshape(n, heads * d_v)
    stage["contribution"] = on[:, None, None] * (stage["head_output"] @ w_o)
    stage["output"] = stage["concat"] @ w["W_O"] + bias("b_O", w["W_O"].shape[1])
    moved = np.linalg.norm(v @ w_o, axis=-1)  # (h, m): how far v_j W_O[h] reaches
    stage["norms"] = on[:, None, None] * stage["weights"] * moved[:, None, :]
    return stage


def difference(found, expected):
    """Largest difference, relative to the array; infinite where shapes or infinities disagree."""
    if found.shape != expected.shape or not np.array_equal(np.isneginf(found), np.isneginf(expected)):
        return np.inf
    finite = np.isfinite(expected)
    if not np.all(np.isfinite(found[finite])):
        return np.inf
    size = max(np.max(np.abs(expected[finite]), initial=0.0), 1e-3)
    return float(np.max(np.abs(found[finite] - expected[finite]), initial=0.0) / size)


CASES = {
    "plain": {"arguments": []},
    "causal": {"arguments": ["--mask", "causal"], "open": lambda i, j: j <= i},
    "window": {"arguments": ["--mask", "window:1"], "open": lambda i, j: np.abs(i - j) <= 1},
    "causal window": {"arguments": ["--mask", "causal+window:2"], "open": lambda i, j: (j <= i) & (i - j <= 2)},
    "padding": {"arguments": ["--mask", "padding:2"], "open": lambda i, j: (j < 4) & (i >= 0)},
    "prefix": {"arguments": ["--mask", "prefix:3"], "open": lambda i, j: (j <= i) | (j < 3)},
    "cross": {"arguments": ["--pair", "Le chat dormait sur un grand tapis rouge ."], "kind": "cross"},
    "kv-heads": {"arguments": ["--kv-heads", "2"], "kv_heads": 2},
    "no bias": {"arguments": ["--no-bias"]},
    "rope": {"arguments": ["--position", "rope"], "position": "rope"},
    "alibi": {"arguments": ["--position", "alibi"], "position": "alibi"},
    "cold": {"arguments": ["--temperature", "0.1"], "temperature": 0.1},
    "hot": {"arguments": ["--temperature", "5"], "temperature": 5.0},
    "ablated": {"arguments": ["--ablate", "0:1,0:6"], "off": [1, 6]},
    "two layers": {"arguments": ["--layers", "2"], "layers": 2},
    "free sizes": {"arguments": ["--d-k", "10", "--d-v", "6"]},
}


def check(program, folder, name, case):
    path = os.path.join(folder, "t.npz")
    subprocess.run([program, "dump", "--model", "toy", "--d-model", "64", "--heads", "8", "--seed", "3", "--text", TEXT,
                    "--weights", "--hidden", "--out", path] + case["arguments"], check=True)
    with np.load(path, allow_pickle=False) as file:
        dump = {key: file[key] for key in file.files}
    kind = case.get("kind", "self")
    worst = ("", 0.0)
    layer_input = None
    for layer in range(case.get("layers", 1)):
        prefix = f"layers.{layer}.{kind}."
        here = {key[len(prefix):]: value for key, value in dump.items() if key.startswith(prefix)}
        wide = {key: value.astype(np.float64) for key, value in here.items() if value.dtype == np.float32}
        x = wide["embedding"]
        y = wide["embedding_key"] if kind == "cross" else x
        weights = {key: value.reshape(-1) if key.startswith("b_") else value
                   for key, value in wide.items() if key[:2] in ("W_", "b_")}
        if ("b_Q" in weights) == (name == "no bias"):
            return f"biases are {'there' if 'b_Q' in weights else 'missing'}"
        expected = recompute(x, y, weights, 8, case.get("kv_heads", 8), case)
        if layer_input is not None:
            expected["embedding"] = layer_input
        layer_input = x + expected["output"]
        for stage, value in expected.items():
            if here[stage].dtype != np.float32:
                return f"{prefix}{stage} is {here[stage].dtype}"
            off = difference(wide[stage], value)
            worst = max(worst, (prefix + stage, off), key=lambda pair: pair[1])
        parts = wide["contribution"].sum(axis=0) + weights.get("b_O", 0.0)
        worst = max(worst, ("sum of contributions", difference(parts, wide["output"])), key=lambda pair: pair[1])
    worst = max(worst, ("hidden", difference(dump["hidden"].astype(np.float64), layer_input)), key=lambda pair: pair[1])
    print(f"{name:14} largest relative difference {worst[1]:.1e} in {worst[0]}")
    return "" if worst[1] <= TOLERANCE else f"{worst[0]} differs by {worst[1]:.1e}, allowed {TOLERANCE:.0e}"


def main():
    program = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            failure = check(program, folder, name, case)
            if failure:
                failures.append(f"{name}: {failure}")
    print("\n".join(failures) or f"{len(CASES)} dumps agree with numpy")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
