package format

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

func TestPutDecimal(t *testing.T) {
	for _, c := range []struct {
		typ   string
		value int64
		want  string
	}{
		{"packed2", 123, "123c"}, {"packed2", -7, "007d"}, {"packed3", 0, "00000c"},
		{"zoned3", 123, "f1f2c3"}, {"zoned3", -123, "f1f2d3"}, {"zoned1", 9, "c9"},
	} {
		parsed, err := ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, parsed.Size)
		PutDecimal(got, parsed, c.value)
		if hex.EncodeToString(got) != c.want {
			t.Errorf("%s %d: %x, want %s", c.typ, c.value, got, c.want)
		}
	}
}

// TestTimeText formats times in every unit, and reads them back.
func TestTimeText(t *testing.T) {
	for _, row := range testrows.Read(t, "times.txt") {
		form := must(ParseType(row[0])).Form
		value := must(strconv.ParseInt(row[1], 10, 64))
		got := AppendTime(nil, value, form)
		if string(got) != row[2] {
			t.Errorf("%d: %s, want %s", value, got, row[2])
		}
		if back, ok := ParseTime(string(got), form); !ok || back != value {
			t.Errorf("%s: read back as %d, %v", got, back, ok)
		}
	}
	for text, want := range map[string]int64{
		"2000-02-29": 951782400000, "2000-02-29T01:00:00+01:00": 951782400000, "12": 12,
	} {
		if got, ok := ParseTime(text, FormMillis); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "yesterday", "2000-02-30", "1970-01-01T00:00:00.0001Z"} {
		if got, ok := ParseTime(text, FormMillis); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
	if got, ok := ParseTime("2262-04-11T23:47:16.854775808Z", FormNanos); ok {
		t.Errorf("an overflow gives %d", got)
	}
}

// TestNpyTimes checks the dtype of times, which is that of datetime64.
func TestNpyTimes(t *testing.T) {
	h, err := Spec{Format: "npy", Type: "time_us"}.NewHeader()
	if err != nil || !bytes.Contains(h.Encode(0), []byte("'<M8[us]'")) {
		t.Errorf("%q, %v", h.Encode(0), err)
	}
}
