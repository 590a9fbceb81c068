package tune

import (
	"fmt"
	"io"
	"strings"

	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/internal/human"
)

// String returns the parameters of the trial and its result.
func (t Trial) String() string {
	result := "not on this device"
	if t.Rate > 0 {
		result = fmt.Sprintf(
			"%.2f Mkeys/s  %s", t.Rate/1e6, gain(t.Rate, t.Default),
		)
	}
	return fmt.Sprintf(
		"%-8s n=%-10d %-18s %-28s %s",
		t.Key,
		t.Records,
		t.Algorithm,
		paramText(t.Params),
		result,
	)
}

// WriteText writes the result of a search as a table.
func WriteText(w io.Writer, t opencl.Tuning) error {
	const line = "%-27s  %-28s %14s %10s %10s %10s\n"
	var b strings.Builder
	fmt.Fprintf(
		&b,
		line,
		"best",
		"parameters",
		"keys",
		"Mkeys/s",
		"before",
		"gain",
	)
	write := func(upTo string, sorts []opencl.TunedSort) {
		for _, s := range sorts {
			fmt.Fprintf(&b, line, fmt.Sprint(s.Key, " ", s.Algorithm), paramText(s.Params), upTo+fmt.Sprint(s.Records),
				fmt.Sprintf("%.2f", s.Rate/1e6), fmt.Sprintf("%.2f", s.Default/1e6), gain(s.Rate, s.Default))
		}
	}
	write("", t.Sorts)
	write("to ", t.Tiny)
	fmt.Fprintf(
		&b,
		"link %s each way, u64 sort %s\n",
		human.PerSecond(t.LinkRate),
		human.PerSecond(t.SortRate),
	)
	_, err := io.WriteString(w, b.String())
	return err
}

// gain returns how much faster a rate is than that of the default parameters.
func gain(rate, before float64) string {
	switch {
	case before == 0:
		return ""
	case rate >= 2*before:
		return fmt.Sprintf("%.1f times", rate/before)
	}
	return fmt.Sprintf("%+.1f %%", 100*(rate/before-1))
}

// paramText returns the parameters that differ from the default.
func paramText(p algo.Params) string {
	var words []string
	for _, w := range []struct {
		name  string
		value int
	}{
		{"group", p.GroupSize}, {"items", p.Items}, {"digit", p.DigitBits},
		{"groups", p.Groups}, {"steps", p.MaskSteps}, {"block", p.BlockFactor},
	} {
		if w.value != 0 {
			words = append(words, fmt.Sprintf("%s=%d", w.name, w.value))
		}
	}
	if words == nil {
		return "default"
	}
	return strings.Join(words, " ")
}
