package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding returns one sentence about the results: which algorithm is the fastest, and by how
// much.
func (r Report) Finding() string {
	var heats []heat
	for _, g := range groupResults(filterResults(r.Results, func(r Result) bool { return r.Rate > 0 })) {
		heats = append(heats, heatOf(g))
	}
	if len(heats) == 0 {
		return fmt.Sprintf(
			"Nothing could be timed: %d of %d cases failed.",
			r.Failed(),
			len(r.Results),
		)
	}
	best := mostWins(heats)
	at := slices.IndexFunc(heats, func(h heat) bool {
		return h.first.Label == best
	})
	sentence := heats[at].String()
	if len(heats) > 1 {
		sentence += fmt.Sprintf(
			";\nit is the fastest for %d of %d kinds of data",
			wins(heats, best),
			len(heats),
		)
	}
	if n := r.Failed(); n > 0 {
		sentence += fmt.Sprintf("; %d of %d cases failed", n, len(r.Results))
	}
	return sentence + "."
}

// A heat is the largest size for one kind of key and distribution, with its fastest result and
// the runner-up.
type heat struct{ first, second Result } // second.Rate is 0 if there is no runner-up

func heatOf(results []Result) heat {
	largest := slices.MaxFunc(results, func(a, b Result) int {
		return cmp.Compare(a.Records, b.Records)
	}).Records
	at := filterResults(results, func(r Result) bool { return r.Records == largest })
	slices.SortStableFunc(at, func(a, b Result) int {
		return cmp.Compare(b.Rate, a.Rate)
	})
	return heat{at[0], append(at, Result{})[1]}
}

func (h heat) String() string {
	text := fmt.Sprintf("%s sorts 2^%s keys of %s, %s, at %s Mkeys/s",
		h.first.Label, log2(h.first.Records), h.first.Key, h.first.Dist, mkeys(h.first.Rate))
	switch ratio := h.first.Rate / max(h.second.Rate, 1); {
	case h.second.Rate == 0:
		return text
	case ratio < 1.05:
		return text + fmt.Sprintf(",\nas fast as %s, the next", h.second.Label)
	default:
		return text + fmt.Sprintf(
			",\n%.1f times as fast as %s, the next", ratio, h.second.Label,
		)
	}
}

func wins(heats []heat, label string) (n int) {
	for _, h := range heats {
		if h.first.Label == label {
			n++
		}
	}
	return n
}

// mostWins returns the label that wins most often. Of several, it returns the first.
func mostWins(heats []heat) string {
	return slices.MaxFunc(heats, func(a, b heat) int {
		return cmp.Compare(
			wins(heats, a.first.Label), wins(heats, b.first.Label),
		)
	}).first.Label
}
