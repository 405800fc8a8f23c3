#!/bin/sh
# Runs every line of a plan and keeps going; ends with topology x formula and one sentence: the same bits or not.
#
#   drift-audit plan DUMP --tp 1,2,4 --cp 1,2 > plan.txt && scripts/sweep.sh plan.txt
#   drift-audit plan DUMP --tp 1,2,4 --cp 1,2 | scripts/sweep.sh --
#
# Exit status: the worst of all runs (the smallest fault code of 2 and above, else 1 for drift, else 0).
set -u

usage() {
  echo "usage: sweep.sh PLANFILE   (-- reads the plan from stdin)" >&2
  exit 2
}
[ $# -eq 1 ] || usage
case $1 in
  --|-) plan=/dev/stdin ;;
  -*) usage ;;
  *) plan=$1 ;;
esac
[ -r "$plan" ] || { echo "sweep.sh: cannot read the plan $plan" >&2; exit 4; }

work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
cp "$plan" "$work/plan" 2>/dev/null || cat "$plan" > "$work/plan"
: > "$work/rows"

# The layout of aggregate.json is part of its schema: two blanks a level, one key a line.
# One line a formula: tp cp status exit formula lse-digest logp-digest.
facts() {
  awk '
    function text(line) { sub(/^[^:]*: */, "", line); gsub(/[",]/, "", line); return line }
    /^  "[a-z_]+":/ { split($0, parts, "\""); section = parts[2]; in_digests = 0 }
    /^  "status":/ { status = text($0) }
    /^  "exit_code":/ { code = text($0) }
    section == "case" && /^    "tp":/ { case_tp = text($0) }  # all there is if the run failed before it had a topology
    section == "case" && /^    "cp":/ { case_cp = text($0) }
    section == "topology" && /^    "tp":/ { tp = text($0) }
    section == "topology" && /^    "cp":/ { cp = text($0) }
    section == "candidates" && /^      "formula":/ { formula = text($0) }
    section == "candidates" && /^      "digests":/ { in_digests = 1 }
    section == "candidates" && in_digests && /^        "lse":/ { lse = text($0) }
    section == "candidates" && in_digests && /^        "logp":/ {
      printf "%s %s %s %s %s %s %s\n", tp, cp, status, code, formula, lse, text($0)
      in_digests = 0; found = 1
    }
    END { if (!found) printf "%s %s %s %s - - -\n", tp == "" ? case_tp : tp, cp == "" ? case_cp : cp, status, code }
  ' "$1"
}

worst=0
runs=0
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '') continue ;;
    '#'*) echo "$line"; continue ;;
  esac
  runs=$((runs + 1))
  echo "+ $line"
  sh -c "$line" < /dev/null > "$work/out"
  code=$?
  cat "$work/out"
  if [ "$code" -ge 2 ]; then
    if [ "$worst" -lt 2 ] || [ "$code" -lt "$worst" ]; then worst=$code; fi
  elif [ "$code" -gt "$worst" ]; then
    worst=$code
  fi
  folder=$(sed -n 's/^\(PASS\|DRIFT\|FAILED\)\(: .*\)*; reports in \(.*\)$/\3/p' "$work/out" | tail -n 1)
  if [ -n "$folder" ] && [ -r "$folder/aggregate.json" ]; then
    facts "$folder/aggregate.json" >> "$work/rows"
  else
    tp=$(printf '%s\n' "$line" | sed -n 's/.* --tp \([0-9]*\).*/\1/p')
    cp=$(printf '%s\n' "$line" | sed -n 's/.* --cp \([0-9]*\).*/\1/p')
    echo "${tp:-1} ${cp:-1} no-report $code - - -" >> "$work/rows"
  fi
done < "$work/plan"

[ "$runs" -gt 0 ] || { echo "sweep.sh: the plan holds no line to run" >&2; exit 2; }

echo
awk -v runs="$runs" '
  BEGIN { printf "%-10s  %-9s  %4s  %-24s  %-16s  %s\n", "topology", "status", "exit", "formula", "lse", "logp" }
  {
    printf "%-10s  %-9s  %4s  %-24s  %-16s  %s\n", "tp" $1 "-cp" $2, $3, $4, $5, substr($6, 1, 16), substr($7, 1, 16)
    if ($5 == "-") { missing++; next }
    if (!($5 in count)) order[++formulas] = $5
    count[$5]++
    if (!(($5, $6, $7) in seen)) { seen[$5, $6, $7] = 1; different[$5]++ }
  }
  END {
    print ""
    for (i = 1; i <= formulas; i++) {
      f = order[i]
      verdict = different[f] == 1 ? "the same bits" : different[f] " different results"
      all = count[f] == runs ? "all " runs " topologies" : count[f] " of " runs " topologies"
      line = line (i > 1 ? "; " : "") f ": " all " gave " verdict
    }
    if (missing) line = line (formulas ? "; " : "") missing " of " runs " runs gave no numbers"
    print line "."
  }
' "$work/rows"
echo "worst exit status: $worst"
exit "$worst"
