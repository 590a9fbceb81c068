package opencl

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/device/opencl/algo"
)

var (
	narrow = KeyKind{WordBytes: 4}
	pairs  = KeyKind{WordBytes: 8, Values: true}
	tuned  = &Tuning{
		Sorts: []TunedSort{
			{Key: narrow, Algorithm: "onesweep", Params: algo.Params{Items: 20}, Records: 1 << 20, Rate: 2e9},
			{Key: narrow, Algorithm: "count-scan-reorder", Params: algo.Params{DigitBits: 7}, Records: 1 << 20, Rate: 3e9},
			{Key: pairs, Algorithm: "onesweep", Records: 1 << 20, Rate: 1e9},
		},
		Tiny: []TunedSort{{Key: narrow, Algorithm: "selection-blocks", Params: algo.Params{BlockFactor: 4},
			Records: 512}},
		LinkRate: 5e10, SortRate: 1e11,
	}
)

func TestTuningChoosesByRate(t *testing.T) {
	for _, c := range []struct {
		key  KeyKind
		n    int64
		want string
	}{
		{narrow, 512, "selection-blocks"},
		{narrow, 513, "count-scan-reorder"},
		{pairs, 2, "onesweep"},
		{KeyKind{WordBytes: 8}, 1 << 20, ""},
	} {
		best, found := tuned.best(c.key, c.n)
		if best.Algorithm != c.want || found != (c.want != "") {
			t.Errorf("%d keys of %s: %q, want %q", c.n, c.key, best.Algorithm, c.want)
		}
	}
	if _, found := new(Tuning).best(narrow, 1); found {
		t.Error("no tuning found something")
	}
	if p := tuned.params("onesweep", narrow); p.Items != 20 {
		t.Errorf("onesweep has %+v", p)
	}
	if p := tuned.params("tile", narrow); p != (algo.Params{}) {
		t.Errorf("what was not tuned has %+v", p)
	}
}

func TestTuningAsJSON(t *testing.T) {
	text, err := json.Marshal(tuned)
	if err != nil {
		t.Fatal(err)
	}
	var got Tuning
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if diff := cmp.Diff(tuned, &got); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"sorts":[{"key":"u128"}]}`), &got); err == nil {
		t.Error("a key of 128 bits was taken")
	}
}
