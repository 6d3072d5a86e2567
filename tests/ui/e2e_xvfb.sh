#!/bin/bash
# The real program on a real X server, with real keys: types a sentence, picks a head, edits a weight, undoes, exports a
# PDF, quits; started again, killed without mercy, and its unsaved work offered.
# usage: e2e_xvfb.sh PROGRAM FOLDER     exit 77: a tool is missing
set -u
program=$1 folder=$2 script=$(realpath "$0")
for tool in xvfb-run xdotool openbox xprop pdftotext; do
  command -v $tool > /dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
if [ "${3:-}" != session ]; then rm -rf "$folder"; fi
mkdir -p "$folder/home/run" && chmod 700 "$folder/home/run" && cd "$folder" || exit 1
export HOME=$folder/home XDG_RUNTIME_DIR=$folder/home/run XDG_CONFIG_HOME=$folder/home/config
export XDG_DATA_HOME=$folder/home/data LC_ALL=C.UTF-8 QT_QPA_PLATFORM=xcb
unset QT_SCALE_FACTOR

session() {
  openbox --sm-disable > /dev/null 2>&1 &
  manager=$!
  trap 'kill $app $manager 2> /dev/null' EXIT
  # A window that is mapped while the manager starts can be lost: wait for it.
  for _ in $(seq 100); do xprop -root _NET_SUPPORTING_WM_CHECK 2> /dev/null | grep -q "window id" && break; sleep .05; done
  fail() { echo "FAIL: $*"; cat stderr.txt; exit 1; }
  start() {
    "$program" 2> stderr.txt &
    app=$!
    window=$(timeout 30 xdotool search --sync --onlyvisible --pid $app --name "$1" | head -1)
    [ -n "$window" ] || fail "no window named $1"
    xdotool windowactivate --sync "$window"
    sleep 1
  }
  keys() { for key in "$@"; do xdotool key --delay 40 "$key"; sleep .3; done; }
  title() { xdotool getwindowname "$window"; }
  wait_for() { for _ in $(seq 100); do eval "$1" && return; sleep .1; done; fail "$2"; }

  start Headscope
  keys ctrl+l
  xdotool type --delay 15 "the dog sat on the log"
  wait_for 'title | grep -q "untitled\*"' "typing did not change the document: $(title)"

  # The mouse pins a cell: the middle of the window is the heatmap, at any size.
  eval "$(xdotool getwindowgeometry --shell "$window")"
  xdotool mousemove $((X + WIDTH / 2)) $((Y + HEIGHT / 2)) click 1
  sleep .3
  xdotool key --delay 40 --repeat 12 ctrl+Left # to the first head, and on to the third
  sleep .3
  keys ctrl+Right ctrl+Right

  # Save, edit a weight, undo: the title says what is unsaved.
  keys ctrl+s
  sleep .5
  xdotool type --delay 15 "$folder/first.headscope"
  keys Return
  wait_for '[ -s first.headscope ]' "nothing was saved"
  wait_for '! title | grep -q "\*"' "saved, and still unsaved: $(title)"
  grep -q '"the dog sat on the log"' first.headscope || fail "the typed text is not in the file"
  grep -q '"heads": \[2\]' first.headscope || fail "no other head was picked"
  grep -q '"cell": \[' first.headscope || fail "no cell was pinned"
  keys ctrl+g # the weights take the keyboard
  xdotool type --delay 15 "0.5"
  keys Return
  wait_for 'title | grep -q "\*"' "no weight was edited"
  keys ctrl+z
  wait_for '! title | grep -q "\*"' "undo did not bring the saved state back"

  keys ctrl+e
  sleep 1
  keys Return
  sleep .7
  keys ctrl+a
  xdotool type --delay 15 "$folder/figure.pdf"
  keys Return
  wait_for '[ -s figure.pdf ]' "no PDF was exported"
  pdftotext figure.pdf - | grep -q dog || fail "the tokens are not text in the PDF"
  sleep .5
  xdotool windowactivate --sync "$window"
  keys ctrl+q
  wait_for '! kill -0 $app 2> /dev/null' "it did not quit"
  wait $app || fail "exit status $?"
  find "$XDG_CONFIG_HOME" -name "*.conf" | grep -q . || fail "nothing was remembered"
  grep -v "propagateSizeHints\|XDG_RUNTIME\|QStandardPaths" stderr.txt | grep . && fail "it complained"

  # A crash: what was typed more than ten seconds ago is offered by the next start.
  start Headscope
  keys ctrl+l
  xdotool type --delay 15 "nearly lost"
  wait_for '[ -n "$(find "$XDG_DATA_HOME" -name "*.headscope" -size +0 2> /dev/null)" ] || { sleep .1; false; }' "no autosave"
  kill -9 $app
  wait $app 2> /dev/null
  start Headscope
  sleep .5
  keys Return                           # Open, the default answer
  wait_for 'title | grep -q "\*"' "what the crash left was not taken up"
  keys ctrl+s
  sleep .5
  xdotool type --delay 15 "$folder/second.headscope"
  keys Return
  wait_for '[ -s second.headscope ]' "what was recovered could not be saved"
  grep -q '"nearly lost"' second.headscope || fail "the recovered text is another one"
  keys ctrl+q
  wait_for '! kill -0 $app 2> /dev/null' "it did not quit"
  echo PASS
}

if [ "${3:-}" = session ]; then session; exit; fi
exec xvfb-run -a -s "-screen 0 1366x768x24 -nolisten tcp -noreset" bash "$script" "$program" "$folder" session
