package format

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// TestKeyText shows keys of every kind as people read them, in both directions.
func TestKeyText(t *testing.T) {
	for _, row := range testrows.Read(t, "key_texts.txt") {
		rec, err := hex.DecodeString(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, desc := range []bool{false, true} {
			k := keyer(t, row[0])
			if desc {
				k = must(NewKeyer(k.Layout().Reverse()))
			}
			if got := k.Layout().KeyText(k.Append(nil, rec)); got != row[2] {
				t.Errorf("%v: the key is %s, want %s", k.Layout(), got, row[2])
			}
		}
	}
}

// TestKeyTextsShowTheDifference finds the field in which keys differ, and shows of long bytes where they do.
func TestKeyTextsShowTheDifference(t *testing.T) {
	x := strings.Repeat("x", 99)
	for _, c := range []struct {
		layout, a, b, textA, textB string
		differs                    int
	}{
		{"2 0:u8 1:u8", "\x01\x02", "\x01\x03", "(1, 2)", "(1, 3)", 1},
		{"2 0:u8 1:u8", "\x02\x02", "\x01\x03", "(2, 2)", "(1, 3)", 0},
		{"1 0:u8", "\x02", "\x02", "2", "2", -1},
		{"100 0:bytes100", x + "a", x + "b", `…"` + x[:31] + `a"`, `…"` + x[:31] + `b"`, 0},
		{"100 0:bytes100", x[:60] + "a" + x[:39], x[:60] + "\x00" + x[:39],
			`…"` + x[:16] + "a" + x[:15] + `"…`, "0x…" + strings.Repeat("78", 16) + "00" + strings.Repeat("78", 15) + "…", 0},
	} {
		k := keyer(t, c.layout)
		a, b, differs := k.Layout().KeyTexts(k.Append(nil, []byte(c.a)), k.Append(nil, []byte(c.b)))
		if a != c.textA || b != c.textB || differs != c.differs {
			t.Errorf("%s: %s and %s, which differ in field %d; want %s, %s, %d",
				c.layout, a, b, differs, c.textA, c.textB, c.differs)
		}
	}
}
