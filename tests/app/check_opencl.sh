#!/bin/bash
# The program with --backend opencl, seen from outside: the same numbers, a device that fails is one note, and not a word
# of the driver or its compiler on standard error, also when its cache is empty.
# Usage: check_opencl.sh PROGRAM FOLDER. Exit status 77: there is no device.
set -u
program=$1
work=$2/check_opencl
rm -rf "$work"
mkdir -p "$work/home"
export HOME=$work/home XDG_CACHE_HOME=$work/home/cache
failed=0
fail() { echo "FAILED: $*"; failed=1; }

"$program" devices >"$work/devices" 2>"$work/err" || fail "devices: $(cat "$work/err")"
[ -s "$work/err" ] && fail "devices wrote to standard error: $(cat "$work/err")"
cat "$work/devices"
grep -qE '^opencl:0 +yes' "$work/devices" || { echo "skipped: there is no usable OpenCL device"; exit 77; }
grep -q 'differs from the CPU by' "$work/devices" || fail "devices does not say how much the device differs"

dump() { # dump NAME [VARIABLE=VALUE...]
    local name=$1
    shift
    env "$@" "$program" dump --text "The cat sat on the mat" --layer 0,5 --stage weights,output --backend "$backend" \
        --out "$work/$name.npz" 2>"$work/$name.err" || fail "$name: $(cat "$work/$name.err")"
}
rm -rf "$work/home"
mkdir "$work/home"
backend=cpu dump cpu
backend=opencl dump opencl
backend=opencl dump unwritable HOME=/nonexistent XDG_CACHE_HOME=/nonexistent
backend=opencl dump failing HEADSCOPE_OPENCL_FAIL=200
backend=opencl dump dead HEADSCOPE_OPENCL_FAIL=0
for name in opencl unwritable; do
    [ -s "$work/$name.err" ] && fail "$name wrote to standard error: $(cat "$work/$name.err")"
done
for name in failing dead; do
    [ "$(wc -l <"$work/$name.err")" = 1 ] || fail "$name: expected one line, found: $(cat "$work/$name.err")"
    grep -q '^headscope: note: backend opencl:0 .* the CPU computes instead' "$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
done
cmp -s "$work/cpu.npz" "$work/dead.npz" || fail "a device that never worked changed the numbers"

"$program" dump --text a --backend opencl:99 --out "$work/none.npz" 2>"$work/none.err"
[ $? = 2 ] || fail "opencl:99 is not refused"
grep -q 'opencl:N with N from 0' "$work/none.err" || fail "opencl:99: $(cat "$work/none.err")"

if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
    python3 - "$work" <<'PYTHON' || fail "numbers differ"
import sys
import numpy
right = numpy.load(sys.argv[1] + "/cpu.npz")
for name in ("opencl", "unwritable", "failing"):
    found = numpy.load(f"{sys.argv[1]}/{name}.npz")
    for key in right.files:
        if right[key].dtype == numpy.float32:
            apart = abs(right[key] - found[key]).max() / max(1, abs(right[key]).max())
            assert apart <= 1e-4, f"{name} {key}: {apart}"
PYTHON
fi
exit $failed
