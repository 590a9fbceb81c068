#!/bin/sh
# Draws NAME.svg from each NAME.txt in this directory. A line of the text is one of
#
#	size W H
#	title WORDS                  describes the drawing to screen readers
#	box X Y W H COLOUR LABEL     COLOUR is 1 to 4, from low to high keys; 0 for keys of all ranges; - for none
#	bands X Y W H ORDER          a box of stripes in the colours of ORDER, such as 3142
#	arrow X1 Y1 X2 Y2 LABEL      the label appears above the middle of the arrow
#	text X Y WORDS
#
# Lengths are in pixels. Blank lines and lines that begin with # are skipped. The script fails if a label leaves its box or
# the drawing, or covers another label or box. Colours follow the reader's light or dark mode.
cd "$(dirname "$0")" || exit
status=0
for source in *.txt; do
	awk '
		function rest(from,   i, s) { for (i = from; i <= NF; i++) s = s (i > from ? " " : "") $i; return s }
		function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }
		function fail(message) { printf "%s: %s\n", FILENAME, message >"/dev/stderr"; failed = 1 }

		# label draws text and remembers the rectangle that it covers: about 7 by 13 pixels for each character.
		function label(x, y, s, anchor, class,   w) {
			if (s == "") return
			w = 7 * length(s)
			labels++
			left[labels] = anchor == "middle" ? x - w / 2 : x
			top[labels] = y - 11
			right[labels] = left[labels] + w
			bottom[labels] = y + 2
			words[labels] = s
			printf "<text class=\"%s\" x=\"%g\" y=\"%g\" text-anchor=\"%s\">%s</text>\n", class, x, y, anchor, escaped(s)
		}
		function rect(x, y, w, h, class) {
			printf "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", class, x, y, w, h
		}
		function remember(x, y, w, h, s) {
			boxes++
			boxLeft[boxes] = x; boxTop[boxes] = y; boxRight[boxes] = x + w; boxBottom[boxes] = y + h
			boxWords[boxes] = s
		}
		function overlap(l1, t1, r1, b1, l2, t2, r2, b2) { return l1 < r2 && l2 < r1 && t1 < b2 && t2 < b1 }

		/^#/ || !NF { next }
		$1 == "size" {
			width = $2; height = $3
			printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" ", $2, $3, $2, $3
			print "font-family=\"sans-serif\" font-size=\"13\">"
			print "<style>"
			print ".page { fill: #ffffff } .words { fill: #222222 } .inside { fill: #222222 } .line { stroke: #444444 } .tip { fill: #444444 }"
			print ".frame { fill: none; stroke: #444444 } .empty { fill: #ffffff; stroke: #444444 }"
			print ".k0 { fill: #e9e9e9 } .k1 { fill: #ffe08a } .k2 { fill: #f7a072 } .k3 { fill: #b5838d } .k4 { fill: #6d8fb3 }"
			print "@media (prefers-color-scheme: dark) {"
			print ".page { fill: #0d1117 } .words { fill: #e6edf3 } .line { stroke: #9da7b3 } .tip { fill: #9da7b3 }"
			print ".frame { stroke: #9da7b3 } .empty { fill: #dfe4ea; stroke: #9da7b3 }"
			print "}"
			print "</style>"
			print "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">"
			print "<path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>"
			rect(0, 0, $2, $3, "page")
		}
		$1 == "title" { printf "<title>%s</title>\n", escaped(rest(2)); titled = 1 }
		$1 == "box" {
			s = rest(7)
			if (7 * length(s) > $4 - 4) fail("the label \"" s "\" is wider than its box")
			rect($2, $3, $4, $5, $6 == "-" ? "empty" : "k" $6)
			rect($2, $3, $4, $5, "frame")
			remember($2, $3, $4, $5, s)
			label($2 + $4 / 2, $3 + $5 / 2 + 5, s, "middle", "inside")
		}
		$1 == "bands" {
			n = length($6)
			for (i = 1; i <= n; i++) rect($2, $3 + (i - 1) * $5 / n, $4, $5 / n, "k" substr($6, i, 1))
			rect($2, $3, $4, $5, "frame")
			remember($2, $3, $4, $5, "")
		}
		$1 == "arrow" {
			printf "<line class=\"line\" x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" marker-end=\"url(#tip)\"/>\n", $2, $3, $4, $5
			label(($2 + $4) / 2, ($3 + $5) / 2 - 6, rest(6), "middle", "words")
		}
		$1 == "text" { label($2, $3, rest(4), "start", "words") }
		END {
			print "</svg>"
			if (!titled) fail("there is no title")
			for (i = 1; i <= labels; i++) {
				if (left[i] < 0 || top[i] < 0 || right[i] > width || bottom[i] > height)
					fail("the label \"" words[i] "\" leaves the drawing")
				for (j = 1; j <= boxes; j++) {
					if (boxWords[j] == words[i]) continue
					inside = left[i] >= boxLeft[j] && right[i] <= boxRight[j] && top[i] >= boxTop[j] && bottom[i] <= boxBottom[j]
					frame = boxWords[j] == "" && inside
					if (!frame && overlap(left[i], top[i], right[i], bottom[i], boxLeft[j], boxTop[j], boxRight[j], boxBottom[j]))
						fail("the label \"" words[i] "\" covers a box")
				}
				for (j = i + 1; j <= labels; j++)
					if (overlap(left[i], top[i], right[i], bottom[i], left[j], top[j], right[j], bottom[j]))
						fail("the labels \"" words[i] "\" and \"" words[j] "\" overlap")
			}
			exit failed
		}' "$source" >"${source%.txt}.svg" || status=1
done
exit $status
