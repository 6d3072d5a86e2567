#!/usr/bin/env python3
"""Job A of `headscope bench` beside other engines, on arrays of the same shapes, in interleaved rounds.

From X (n, d) and W_Q, W_K, W_V, W_O with biases: Q, K, V, all scaled scores, all weights, heads, concat, output. Every
engine keeps the scores and the weights, as Headscope does. Peers that are not installed are left out by name.

    tests/bench/peers.py build/release/headscope [--n 16,64,256] [--d-model 512] [--heads 8] [--threads 2] [--rounds 7]

Ratios are the peer's best time over Headscope's best: 2.0 means that the peer takes twice as long. Shared machines have
slow moments, so a round runs everybody in turn and the best of all rounds counts.
"""
import argparse
import json
import os
import subprocess
import sys
import time


def best(run, seconds=0.15):
    run()
    least, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def numpy_peer(n, d, h, x, w, b):
    import numpy as np

    dk = d // h

    def run():
        q, k, v = ((x @ w[i] + b[i]).reshape(n, h, dk).transpose(1, 0, 2) for i in range(3))
        s = (q @ k.transpose(0, 2, 1)) * np.float32(dk**-0.5)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        a = e / e.sum(axis=-1, keepdims=True)
        return s, a, (a @ v).transpose(1, 0, 2).reshape(n, d) @ w[3] + b[3]

    return run


def torch_peer(n, d, h, x, w, b, threads):
    import torch

    torch.set_num_threads(threads)
    dk = d // h
    with torch.inference_mode():
        tx = torch.from_numpy(x)
        qkv = torch.from_numpy(__import__("numpy").concatenate(w[:3], axis=1)).contiguous()
        bias = torch.from_numpy(__import__("numpy").concatenate(b[:3]))
        wo, bo = torch.from_numpy(w[3]), torch.from_numpy(b[3])

    def run():
        with torch.inference_mode():
            q, k, v = torch.addmm(bias, tx, qkv).view(n, 3, h, dk).permute(1, 2, 0, 3)
            s = torch.matmul(q, k.transpose(-1, -2)).mul_(dk**-0.5)
            a = torch.softmax(s, -1)
            return s, a, torch.addmm(bo, torch.matmul(a, v).transpose(0, 1).reshape(n, d), wo)

    return run


def onnx_peer(n, d, h, x, w, b, threads):
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
    import numpy as np

    dk = d // h
    constants = {"sc": np.float32(dk**-0.5), "split": np.array([n, h, dk]), "join": np.array([n, d])}
    for i, name in enumerate("qkvo"):
        constants["w" + name], constants["b" + name] = w[i], b[i]
    nodes = []
    for name, perm in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
        nodes += [
            helper.make_node("Gemm", ["x", "w" + name, "b" + name], [name + "0"]),
            helper.make_node("Reshape", [name + "0", "split"], [name + "1"]),
            helper.make_node("Transpose", [name + "1"], [name], perm=perm),
        ]
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["raw"]),
        helper.make_node("Mul", ["raw", "sc"], ["s"]),
        helper.make_node("Softmax", ["s"], ["a"], axis=-1),
        helper.make_node("MatMul", ["a", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["ot"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["ot", "join"], ["c"]),
        helper.make_node("Gemm", ["c", "wo", "bo"], ["y"]),
    ]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph(
        nodes,
        "job",
        [value("x", [n, d])],
        [value("s", [h, n, n]), value("a", [h, n, n]), value("y", [n, d])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("headscope")
    p.add_argument("--n", default="16,64,128,256,512,1024")
    p.add_argument("--d-model", type=int, default=512)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--rounds", type=int, default=7)
    o = p.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(o.threads)
    try:
        import numpy as np
    except ImportError:
        sys.exit("peers.py needs numpy")
    d, h = o.d_model, o.heads
    rng = np.random.default_rng(1)
    makers = {
        "numpy": lambda *a: numpy_peer(*a),
        "PyTorch": lambda *a: torch_peer(*a, o.threads),
        "ONNX Runtime": lambda *a: onnx_peer(*a, o.threads),
    }
    missing = []
    print(f"job A, d_model {d}, {h} heads, {o.threads} threads, best of {o.rounds} rounds")
    for n in (int(v) for v in o.n.split(",")):
        x = rng.standard_normal((n, d), dtype=np.float32)
        w = [rng.standard_normal((d, d), dtype=np.float32) / np.float32(d**0.5) for _ in range(4)]
        b = [rng.standard_normal(d, dtype=np.float32) for _ in range(4)]
        peers = {}
        for name, make in makers.items():
            try:
                peers[name] = make(n, d, h, x, w, b)
            except ImportError as e:
                if name not in missing:
                    missing.append(name)
                    print(f"  {name} is left out: {e}")
        own, theirs, share = float("inf"), {name: float("inf") for name in peers}, 0.0
        for _ in range(o.rounds):
            out = subprocess.run(
                [o.headscope, "bench", "--n", str(n), "--d-model", str(d), "--heads", str(h), "--threads", str(o.threads), "--json"],
                check=True, capture_output=True, text=True,
            ).stdout
            result = json.loads(out)[0]
            own, share = min(own, result["ms_min"]), max(share, result["roofline_share"])
            for name, run in peers.items():
                theirs[name] = min(theirs[name], best(run))
        ratios = "  ".join(f"{name} {ms:9.3f} ms ({ms / own:5.2f} x)" for name, ms in theirs.items())
        print(f"n={n:5d}  headscope {own:9.3f} ms ({100 * share:3.0f} % of the limit)  {ratios}", flush=True)


if __name__ == "__main__":
    main()
