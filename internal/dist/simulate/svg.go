package simulate

import (
	"fmt"
	"io"
	"strings"

	"github.com/extsort/extsort/internal/human"
)

// colours of the stages and of lost attempts.
var colours = []string{"#4477aa", "#ee8866", "#228833", "#aa3377", "#cc3311"}

// WriteSVG draws a row for each slot with its attempts from left to right. The title of each
// attempt describes it.
func (r *Result) WriteSVG(w io.Writer, nodes, slots int) error {
	const left, top, width = 60, 40, 1000
	row := min(max(600/float64(nodes*slots), 1), 16)
	height := row * float64(nodes*slots)
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" font-family="sans-serif" `+
			`font-size="12"><rect width="100%%" height="100%%" fill="white"/>`+"\n",
		left+width+60,
		top+height+30,
	)
	for i, name := range append(Stages, "lost") {
		fmt.Fprintf(
			&b,
			`<rect x="%d" y="12" width="12" height="12" fill="%s"/><text x="%d" y="22">%s</text>`+"\n",
			left+80*i,
			colours[i],
			left+80*i+16,
			name,
		)
	}
	for _, a := range r.Attempts {
		colour := colours[a.Stage]
		from := a.Began / r.Seconds * width
		if a.Lost {
			colour = colours[len(Stages)]
		}
		fmt.Fprintf(
			&b,
			`<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"><title>%s %d, node %d, %s to %s, `+
				"bottleneck: %s</title></rect>\n",
			left+from,
			top+row*float64(a.Node*slots+a.Slot),
			a.Ended/r.Seconds*width-from,
			row*0.9,
			colour,
			Stages[a.Stage],
			a.Task,
			a.Node,
			human.Time(a.Began),
			human.Time(a.Ended),
			a.HeldBy(),
		)
	}
	for i := range 6 {
		fmt.Fprintf(
			&b,
			`<text x="%d" y="%.0f" text-anchor="middle">%s</text>`+"\n",
			left+width/5*i,
			top+height+18,
			human.Time(r.Seconds/5*float64(i)),
		)
	}
	fmt.Fprintf(
		&b,
		`<text x="%d" y="%d" text-anchor="end">node 0</text></svg>`+"\n",
		left-4,
		top+12,
	)
	_, err := io.WriteString(w, b.String())
	return err
}
