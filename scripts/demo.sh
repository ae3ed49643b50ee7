#!/bin/sh
# What this machine can do, shown in about a minute. usage: scripts/demo.sh SHOAL
set -eu
shoal=$(realpath "$1")
zoo=$(dirname "$(realpath "$0")")/../zoo

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

say "1. What this machine is, what it can do, and what its owner should know"
echo "\$ shoal doctor"
"$shoal" doctor

say "2. Our matrix multiplication beside OpenBLAS and oneDNN (a ratio above 1: ours is faster)"
echo "\$ shoal bench gemm --quick"
"$shoal" bench gemm --quick

say "3. LeNet learns ten kinds of small pictures, made for the purpose, on two workers, and is tested on others"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
  cd "$work"
  run() { echo "\$ shoal $*"; "$shoal" "$@"; }
  run data synth --out mnist_train_lmdb --count 4000 --size 28 --channels 1 --seed 1 --quiet
  run data synth --out mnist_test_lmdb --count 1000 --size 28 --channels 1 --seed 2 --quiet
  run zoo export lenet .
  run train --solver solver.prototxt --iterations 400 --workers 2 --dir cluster
  run test --net train_val.prototxt --weights lenet_iter_400.caffemodel
)

say "4. A language model of 3 MB, trained by zoo/bard/train_bard.py on Shakespeare, goes on with a play"
echo "\$ shoal generate --model zoo/bard/bard-q8_0.gguf --prompt ROMEO: --tokens 120 --temperature 0.6"
"$shoal" generate --model "$zoo/bard/bard-q8_0.gguf" --prompt ROMEO: --tokens 120 --temperature 0.6
echo
echo "\$ echo 'My lord, what is thy will?' | shoal chat --model zoo/bard/bard-q8_0.gguf --system ROMEO"
echo 'My lord, what is thy will?' |
  "$shoal" chat --model "$zoo/bard/bard-q8_0.gguf" --system ROMEO --temperature 0.6

say "5. The same model over five nodes, real processes that speak TLS; one is killed in mid-answer"
echo "\$ shoal up --model zoo/bard/bard-q8_0.gguf --nodes 5 --stages 5 --delay-ms 5"
"$shoal" up --model "$zoo/bard/bard-q8_0.gguf" --nodes 5 --stages 5 --delay-ms 5 --dir "$work/up" \
  --http 127.0.0.1:0 >"$work/up.log" 2>&1 &
cluster=$!
trap 'kill $cluster 2>/dev/null || true; rm -rf "$work"' EXIT
address() { sed -n 's|^answers at http://\([^/]*\)/.*|\1|p' "$work/up.log"; }
tries=0
until [ -n "$(address)" ] && curl -s "http://$(address)/health" | grep -q '"status":"ok","nodes":5'; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || { cat "$work/up.log"; exit 1; }
  sleep 0.1
done
sleep 2.5 # until the layers are spread over all five
echo "\$ shoal nodes ls"
"$shoal" nodes ls --dir "$work/up/head"
question='{"prompt": "JULIET:", "max_tokens": 100, "temperature": 0}'
echo "\$ curl http://127.0.0.1:8080/v1/completions -d '$question'"
curl -s "http://$(address)/v1/completions" -d "$question" >"$work/answer" &
asking=$!
sleep 1
victim=$(sed -n 's/^node-2 is process //p' "$work/up.log")
echo "\$ kill -9 $victim    # node-2, while it answers"
kill -9 "$victim"
wait $asking
sed 's/.*"text":"\(.*\)","logprobs".*/\1/; s/\\n/\
/g' "$work/answer"
grep 'is gone' "$work/up.log"
echo "One device alone says, word by word the same:"
"$shoal" generate --model "$zoo/bard/bard-q8_0.gguf" --prompt JULIET: --tokens 100 --temperature 0 \
  2>/dev/null
kill $cluster
wait $cluster 2>/dev/null || true

say "6. Fifty phones in one thread: they crash, hang and lose their network, and all come back"
echo "\$ shoal sim --nodes 50 --seed 42 --random-faults --seconds 30"
"$shoal" sim --nodes 50 --seed 42 --random-faults --seconds 30

say "The trace hash above is the same on every machine and compiler; run it again and compare."
