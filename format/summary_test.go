package format

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

func summaryOf(t *testing.T, l Layout, recs []byte) Summary {
	t.Helper()
	k := must(NewKeyer(l))
	var sum Checksum
	sum.Add(recs, l.RecordSize)
	return NewSummary(l, CheckBlock(k, 0, recs), sum)
}

// TestSummariesAddUp cuts sorted records anywhere: the summaries of the parts, as JSON, make that of the whole.
func TestSummariesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 3))
	l := Layout{RecordSize: 3, Key: []Field{{Offset: 1, Type: Type{Kind: Unsigned, Size: 1}}}}
	for range 200 {
		keys := make([]byte, r.IntN(60))
		for i := range keys {
			keys[i] = byte(r.IntN(1 + r.IntN(200)))
		}
		slices.Sort(keys)
		var recs []byte
		for _, key := range keys {
			recs = append(recs, byte(r.Uint32()), key, byte(r.Uint32()))
		}
		whole, joined := summaryOf(t, l, recs), summaryOf(t, l, nil)
		for rest := recs; ; {
			n := min(r.IntN(20), len(rest)/3)
			part := summaryOf(t, l, rest[:3*n])
			text, err := json.Marshal(part)
			next := Summary{}
			if err != nil || json.Unmarshal(text, &next) != nil || next != part || next.Validate() != nil {
				t.Fatalf("%s: %+v", text, next)
			}
			unique := joined.Records == 0 || n == 0 || joined.LastKey != next.FirstKey
			if !joined.Precedes(&next, false) || joined.Precedes(&next, true) != unique {
				t.Fatalf("%+v does not precede %+v", joined, next)
			}
			if n > 0 && joined.Records > 0 && next.LastKey > joined.FirstKey && next.Precedes(&joined, false) {
				t.Fatalf("%+v precedes %+v", next, joined)
			}
			if err := joined.Add(&next); err != nil {
				t.Fatal(err)
			}
			if rest = rest[3*n:]; len(rest) == 0 {
				break
			}
		}
		if joined != whole {
			t.Fatalf("the parts add up to %+v, the whole is %+v", joined, whole)
		}
	}
}

// TestSummariesOfOtherOrders have nothing to do with each other.
func TestSummariesOfOtherOrders(t *testing.T) {
	f32 := Type{Kind: Float, Size: 4}
	orders := map[string]Layout{
		"bare f32": Bare(f32), "bare f32:desc": Bare(f32).Reverse(), "bare f32, NaNs last": Bare(f32).withFloats("last", ""),
		"bare f32:desc, NaNs first": Bare(f32).withFloats("first", "").Reverse(),
	}
	for name, l := range orders {
		a := summaryOf(t, l, nil)
		if a.Order != name {
			t.Errorf("order %q, want %q", a.Order, name)
		}
		for other, l := range orders {
			b := summaryOf(t, l, nil)
			if err := a.Add(&b); (err == nil) != (name == other) {
				t.Errorf("%s and %s: %v", name, other, err)
			}
		}
	}
	for _, bad := range []Summary{{}, {Checksum: "1"}, {Order: "bare u8", Checksum: "x"}, {Order: "bare u8", Records: 1,
		Checksum: "1"}, {Order: "bare u8", Records: 1, Checksum: "1", FirstKey: "00"}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is taken for a summary", bad)
		}
	}
}
