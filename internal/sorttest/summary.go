package sorttest

import (
	"maps"
	"slices"
	"strings"
)

// errorPrefix is the beginning of the outcome of a sort that failed.
const errorPrefix = "error: "

// shown returns the properties of an outcome that a row wants to see, on one line.
func shown(o Outcome, names []string) string {
	if text, failed := o["error"]; failed {
		return errorPrefix + text
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, o[name])
	}
	return strings.Join(parts, ", ")
}

// varied describes the settings that have several values.
func varied(s Settings, axes []Axis) string {
	var parts []string
	for _, a := range axes {
		if len(a.Values) > 1 {
			parts = append(parts, a.Name+"="+s[a.Name])
		}
	}
	return strings.Join(parts, " ")
}

// summarize returns one line if all outcomes are the same. Otherwise, it looks for the smallest set
// of settings that decide the outcome, and each line starts with their values.
func summarize(axes []Axis, settings []map[string]string, outcomes []string) string {
	var many []Axis
	for _, a := range axes {
		if len(a.Values) > 1 {
			many = append(many, a)
		}
	}
	deciding := decidingAxes(many, settings, outcomes)
	if len(deciding) == 0 {
		return outcomes[0] + "\n"
	}

	best := lines(deciding, settings, outcomes)
	for i := range deciding[1:] {
		others := slices.Delete(slices.Clone(deciding), i, i+1)
		if now := lines(append(others, deciding[i]), settings, outcomes); len(now) < len(best) {
			best = now
		}
	}
	return strings.Join(best, "")
}

// lines returns one line for all sorts with the same outcome that differ only in the last axis.
func lines(axes []Axis, settings []map[string]string, outcomes []string) (all []string) {
	last := axes[len(axes)-1].Name
	values := map[string][]string{} // values of the last axis for each line
	for i, s := range settings {
		start := varied(s, axes[:len(axes)-1])
		line := strings.TrimPrefix(start+" "+last+"=\x00: "+outcomes[i]+"\n", " ")
		if !slices.Contains(all, line) {
			all = append(all, line)
		}
		if !slices.Contains(values[line], s[last]) {
			values[line] = append(values[line], s[last])
		}
	}
	for i, line := range all {
		all[i] = strings.Replace(line, "\x00", strings.Join(values[line], ","), 1)
	}
	return all
}

// decidingAxes returns the smallest set of axes whose values decide the outcome.
func decidingAxes(axes []Axis, settings []map[string]string, outcomes []string) []Axis {
	best := axes
	for set := range 1 << len(axes) {
		var chosen []Axis
		for i, a := range axes {
			if set>>i&1 != 0 {
				chosen = append(chosen, a)
			}
		}
		if len(chosen) < len(best) && decides(chosen, settings, outcomes) {
			best = chosen
		}
	}
	return best
}

func decides(axes []Axis, settings []map[string]string, outcomes []string) bool {
	known := map[string]string{}
	for i, s := range settings {
		key := varied(s, axes)
		if outcome, ok := known[key]; ok && outcome != outcomes[i] {
			return false
		}
		known[key] = outcomes[i]
	}
	return true
}

// distinctErrors returns the different errors among outcomes, one on each line.
func distinctErrors(outcomes []string) string {
	errs := map[string]bool{}
	for _, o := range outcomes {
		if strings.HasPrefix(o, errorPrefix) {
			errs[o+"\n"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(errs)), "")
}

// sampled returns one in n of the settings.
func sampled(settings []map[string]string, n, first int) (some []map[string]string) {
	for i := first; i < len(settings); i += n {
		some = append(some, settings[i])
	}
	return some
}
