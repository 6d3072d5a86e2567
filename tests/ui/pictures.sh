#!/bin/bash
# Pictures of the window to be looked at by people: 12 states and more, from a laptop to 4K (as fine letters and as a
# large screen), light and dark, for a projector, in half a screen, and what only a hand brings up (panels, tabs,
# dialogs); a contact sheet of each size. Every picture is made by the program itself; nothing is compared.
# usage: pictures.sh PROGRAM FOLDER [SIZE...]   SIZE: one of those below, "1366x768 1"; window_pictures lies beside PROGRAM
set -eu
program=$(realpath "$1") folder=$2
mkdir -p "$folder"
export QT_QPA_PLATFORM=offscreen LC_ALL=C.UTF-8

short="The cat sat on the mat"
middle="When the old teacher opened the heavy door, the children, who had been waiting outside in the rain, ran in and sat down at their small wooden desks."
long="$middle The teacher smiled, took a piece of white chalk and wrote one long word on the board. Nobody could read it. Then a girl in the last row raised her hand and said that it was the name of a river far away in the north, where her grandmother lived, and the teacher nodded, because that was right."
story="Once upon a time there was a little girl named Lily. She saw a big dog and"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A scenario file with a view of its own: what the options of a screenshot cannot say. usage: viewed NAME TEXT MODEL JSON
viewed() {
  printf '{"format": "headscope", "version": 1, "model": {"name": "%s"}, "text": "%s", "view": %s}\n' "$3" "$2" "$4" \
    > "$scratch/$1.headscope"
}
viewed links "$middle" mini '{"figure": "links", "layer": 1, "heads": [8], "threshold": 0.05}'
viewed many "$short" mini '{"figure": "links", "layer": 0, "heads": [0, 2, 5, 8]}'
viewed grid "$short" mini '{"figure": "grid", "layer": 0, "heads": [0]}'
viewed stages "$short" mini '{"figure": "stages", "layer": 5, "heads": [11], "cell": [3, 2]}'
viewed words "$middle" mini '{"layer": 1, "heads": [8], "words": true, "special": "drop", "values": true}'
viewed sides "$short" mini '{"layer": 0, "heads": [2, 5, 8]}'
viewed walk "$short" mini '{"figure": "walk", "layer": 5, "heads": [11], "cell": [3, 2]}'
viewed product "$short" mini '{"figure": "walk", "layer": 5, "heads": [11], "stage": "scores", "cell": [3, 2]}'
"$program" dump --text "$short" --stage weights --out "$scratch/captured.npz"

declare -A states=(
  [01-first]="--text|$short"
  [02-long]="--text|$long"
  [03-decoder]="--model|story|--text|$story"
  [04-patterns]="--model|patterns|--text|$short, the cat sat."
  [05-cross]="--model|translate|--text|the small black cat sleeps"
  [06-grouped]="--model|toy|--heads|8|--kv-heads|2|--layers|3|--text|$short"
  [07-links]="--scenario|$scratch/links.headscope"
  [08-many]="--scenario|$scratch/many.headscope"
  [09-grid]="--scenario|$scratch/grid.headscope"
  [10-stages]="--scenario|$scratch/stages.headscope"
  [11-words]="--scenario|$scratch/words.headscope"
  [12-sides]="--scenario|$scratch/sides.headscope"
  [13-walk]="--scenario|$scratch/walk.headscope"
  [14-product]="--scenario|$scratch/product.headscope"
  [15-rule]="--text|$short|--layer|5|--head|11|--rule|scale-dmodel"
  [16-two]="--model|toy|--text|the cat sat|--pair|le chat noir dort ici"
  [17-captured]="--model|$scratch/captured.npz"
)
sizes=("1366x768 1" "1920x1080 1" "1920x1080 2" "3840x2160 1" "1280x720 1" "1024x768 1" "960x540 1" "800x600 1")
[ $# -gt 2 ] && sizes=("${@:3}")

for size in "${sizes[@]}"; do
  read -r pixels scale <<< "$size"
  case $pixels in
    1280x720 | 1024x768) looks="projector light" ;;
    *) looks="light dark" ;;
  esac
  for look in $looks; do
    for state in "${!states[@]}"; do
      IFS='|' read -ra options <<< "${states[$state]}"
      out="$folder/$pixels-x$scale-$look-$state.png"
      "$program" screenshot "${options[@]}" --size "$pixels" --scale-factor "$scale" \
        $([ $look = light ] || echo --$look) --out "$out"
      echo "$out"
    done
    if command -v montage > /dev/null; then
      montage "$folder/$pixels-x$scale-$look-"[0-9]*.png -tile 3x -geometry 900x506+6+6 \
        "$folder/sheet-$pixels-x$scale-$look.png"
    fi
  done
done
hand=$(dirname "$program")/window_pictures
if [ -x "$hand" ]; then
  mkdir -p "$folder/hand-light" "$folder/hand-dark"
  "$hand" "$folder/hand-light"
  "$hand" "$folder/hand-dark" dark
fi
