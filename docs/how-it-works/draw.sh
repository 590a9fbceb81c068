#!/bin/sh
# Makes NAME.svg of each NAME.txt beside it. A line of the text is one of
#
#	size W H
#	box X Y W H COLOUR LABEL     COLOUR is 1 to 4, keys from low to high; 0 for what holds keys of all ranges, - for none
#	bands X Y W H ORDER          a box of stripes of the colours of ORDER, as 3142
#	arrow X1 Y1 X2 Y2 LABEL      LABEL stands above the middle
#	text X Y WORDS
#
# Lengths are in pixels. Blank lines and those that begin with # say nothing.
cd "$(dirname "$0")" || exit
for source in *.txt; do
	awk '
		function rest(from,   i, s) { for (i = from; i <= NF; i++) s = s (i > from ? " " : "") $i; return escaped(s) }
		function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }
		function label(x, y, s, anchor) {
			if (s != "") printf "<text x=\"%g\" y=\"%g\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, s
		}
		function rect(x, y, w, h, fill, line) {
			printf "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\" stroke=\"%s\"/>\n", x, y, w, h, fill, line
		}
		BEGIN { split("#ffe08a #f7a072 #b5838d #6d8fb3", key, " "); key["0"] = "#e9e9e9"; key["-"] = "#ffffff" }
		/^#/ || !NF { next }
		$1 == "size" {
			printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" ", $2, $3, $2, $3
			print "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">"
			print "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">"
			print "<path d=\"M0,0 L8,4 L0,8 z\" fill=\"#444\"/></marker></defs>"
			rect(0, 0, $2, $3, "#ffffff", "none")
		}
		$1 == "box" { rect($2, $3, $4, $5, key[$6], "#444"); label($2 + $4 / 2, $3 + $5 / 2 + 5, rest(7), "middle") }
		$1 == "bands" {
			n = length($6)
			for (i = 1; i <= n; i++) rect($2, $3 + (i - 1) * $5 / n, $4, $5 / n, key[substr($6, i, 1)], "none")
			rect($2, $3, $4, $5, "none", "#444")
		}
		$1 == "arrow" {
			printf "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"#444\" marker-end=\"url(#tip)\"/>\n", $2, $3, $4, $5
			label(($2 + $4) / 2, ($3 + $5) / 2 - 6, rest(6), "middle")
		}
		$1 == "text" { label($2, $3, rest(4), "start") }
		END { print "</svg>" }' "$source" >"${source%.txt}.svg"
done
