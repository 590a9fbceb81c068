package main

import "testing"

func TestParseContents(t *testing.T) {
	c, err := parseContents([]byte("extsort: f: record 2 (byte 16) is out of order\n" +
		`{"records":3,"duplicates":0,"checksum":"a8c9"}` + "\n"))
	if err != nil || c.Records != 3 || c.Checksum != "a8c9" {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, said := range []string{"", "extsort: no such file\n", "{broken\n"} {
		if _, err := parseContents([]byte(said)); err == nil {
			t.Errorf("%q was taken for statistics", said)
		}
	}
}

func TestCompareContents(t *testing.T) {
	want := contents{Records: 3, Checksum: "a8"}
	sorted := contents{Records: 3, Checksum: "a8", inOrder: true}
	if err := compareContents(sorted, want, true); err != nil {
		t.Error(err)
	}
	if err := compareContents(want, want, false); err != nil {
		t.Errorf("a copy need not be in order: %v", err)
	}
	for name, found := range map[string]contents{
		"fewer records": {Records: 2, Checksum: "a8", inOrder: true},
		"other records": {Records: 3, Checksum: "a9", inOrder: true},
		"no order":      want,
	} {
		if err := compareContents(found, want, true); err == nil {
			t.Errorf("%s passed the check", name)
		}
	}
}

// TestTogether adds up the contents of parts, as set operations do.
func TestTogether(t *testing.T) {
	p := &setPair{parts: [dataParts]contents{{Records: 2, Checksum: "fff"}, {Records: 3, Checksum: "1"}, {}}}
	all, err := p.together([]int{onlyA, onlyB, onlyB})
	if want := (contents{Records: 8, Checksum: "1001"}); err != nil || all != want {
		t.Errorf("%+v, %v, want %+v", all, err, want)
	}
	if _, err := p.together([]int{inBoth}); err == nil {
		t.Error("a part without a checksum was added")
	}
}
