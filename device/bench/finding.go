package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding returns one sentence about the results: which algorithm is the fastest, and by how
// much.
func (r Report) Finding() string {
	var rankings []ranking
	for _, g := range groupResults(filterResults(r.Results, func(r Result) bool { return r.Rate > 0 })) {
		rankings = append(rankings, rankingOf(g))
	}
	if len(rankings) == 0 {
		return fmt.Sprintf(
			"Nothing could be timed: %d of %d cases failed.",
			r.Failed(),
			len(r.Results),
		)
	}
	best := mostWins(rankings)
	at := slices.IndexFunc(rankings, func(h ranking) bool {
		return h.first.Label == best
	})
	sentence := rankings[at].String()
	if len(rankings) > 1 {
		sentence += fmt.Sprintf(
			";\nit is the fastest for %d of %d kinds of data",
			wins(rankings, best),
			len(rankings),
		)
	}
	if n := r.Failed(); n > 0 {
		sentence += fmt.Sprintf("; %d of %d cases failed", n, len(r.Results))
	}
	return sentence + "."
}

// A ranking holds the fastest result and the runner-up at the largest size, for one kind of key and
// one distribution.
type ranking struct{ first, second Result } // second.Rate is 0 if there is no runner-up

func rankingOf(results []Result) ranking {
	largest := slices.MaxFunc(results, func(a, b Result) int {
		return cmp.Compare(a.Records, b.Records)
	}).Records
	at := filterResults(results, func(r Result) bool { return r.Records == largest })
	slices.SortStableFunc(at, func(a, b Result) int {
		return cmp.Compare(b.Rate, a.Rate)
	})
	return ranking{at[0], append(at, Result{})[1]}
}

func (h ranking) String() string {
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

func wins(rankings []ranking, label string) (n int) {
	for _, h := range rankings {
		if h.first.Label == label {
			n++
		}
	}
	return n
}

// mostWins returns the label that wins most often. Of several, it returns the first.
func mostWins(rankings []ranking) string {
	return slices.MaxFunc(rankings, func(a, b ranking) int {
		return cmp.Compare(
			wins(rankings, a.first.Label), wins(rankings, b.first.Label),
		)
	}).first.Label
}
