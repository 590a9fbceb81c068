#!/bin/sh
# Draws demo.svg, the terminal in the README, from the transcript demo.txt. "docs/demo.sh record" first runs the commands
# below in a terminal of 80 columns and writes their output to demo.txt. Recording needs Go, 4 GB of disk and the script
# command of util-linux. The times are those of the machine, so record when it is idle.
set -eu
cd "$(dirname "$0")"

columns=80
commands='extsort gen -R 16 -k 0:u64 -k 8:u32 --dist nearly-sorted -n 64M -o log.bin
extsort plan -R 16 -k 8:u32 -S 64M -T . -o sorted.bin log.bin
extsort -R 16 -k 8:u32 -S 64M -T . -o sorted.bin log.bin
extsort -R 16 -k 8:u32 -c sorted.bin && echo in order'

# record runs the commands in an empty directory. A progress bar overwrites its line, so only the text after the last
# carriage return stays on the screen.
record() {
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/demo.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir "$work/bin" "$work/home"
	go build -o "$work/bin/extsort" ../cmd/extsort
	printf '%s\n' "$commands" | while read -r command; do
		echo "\$ $command"
		(
			cd "$work/home"
			export HOME="$work/home" XDG_CACHE_HOME="$work/home" XDG_CONFIG_HOME="$work/home" TERM=xterm
			export PATH="$work/bin:$PATH"
			script -qec "stty cols $columns && $command" /dev/null </dev/null
		) >"$work/screen.txt" || { cat "$work/screen.txt" >&2; exit 1; }
		sed -e 's/\r*$//' -e 's/.*\r//' "$work/screen.txt"
	done >"$work/demo.txt"
	mv "$work/demo.txt" demo.txt
}

# draw gives each character a cell of 8 by 18 pixels. It fails if a line is too wide or contains a control character.
draw() {
	LC_ALL=C awk -v columns="$columns" '
		function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }
		length($0) > columns || /[^ -~]/ {
			printf "demo.txt:%d: not %d columns of ASCII\n", NR, columns >"/dev/stderr"
			failed = 1
		}
		{ line[NR] = $0 }
		END {
			if (failed || !NR) exit 1
			cell = 8; leading = 18; margin = 16; bar = 28
			width = columns * cell + 2 * margin
			height = bar + NR * leading + margin
			printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" ",
				width, height, width, height
			print "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">"
			print "<title>extsort in a terminal: it generates a file, plans the sort, sorts the file and checks the result</title>"
			print "<style>"
			print ".page { fill: #f6f8fa; stroke: #d0d7de } .button { fill: #d0d7de }"
			print ".output { fill: #24292f } .command { fill: #0550ae; font-weight: 600 }"
			print "@media (prefers-color-scheme: dark) {"
			print ".page { fill: #0d1117; stroke: #30363d } .button { fill: #30363d }"
			print ".output { fill: #e6edf3 } .command { fill: #79c0ff }"
			print "}"
			print "</style>"
			printf "<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width - 1, height - 1
			for (i = 0; i < 3; i++) printf "<circle class=\"button\" cx=\"%d\" cy=\"14\" r=\"5\"/>\n", margin + 5 + 18 * i
			for (i = 1; i <= NR; i++) {
				if (line[i] == "") continue
				class = line[i] ~ /^\$ / ? "command" : "output"
				printf "<text class=\"%s\" x=\"%d\" y=\"%d\" textLength=\"%d\" ", class, margin, bar + i * leading - 4,
					length(line[i]) * cell
				printf "lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%s</text>\n", escaped(line[i])
			}
			print "</svg>"
		}
	' demo.txt >demo.svg.new || { rm demo.svg.new; exit 1; }
	mv demo.svg.new demo.svg
}

if [ "${1-}" = record ]; then
	record
fi
draw
