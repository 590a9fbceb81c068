package format

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
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
	for _, c := range []struct {
		form  Form
		value int64
		want  string
	}{
		{FormSeconds, 0, "1970-01-01T00:00:00Z"},
		{FormSeconds, -1, "1969-12-31T23:59:59Z"},
		{FormSeconds, 951782400, "2000-02-29T00:00:00Z"},
		{FormSeconds, lastSecond, "9999-12-31T23:59:59Z"},
		{FormSeconds, lastSecond + 1, "253402300800"},
		{FormSeconds, firstSecond, "0000-01-01T00:00:00Z"},
		{FormMillis, -1, "1969-12-31T23:59:59.999Z"},
		{FormMicros, 1, "1970-01-01T00:00:00.000001Z"},
		{FormNanos, math.MaxInt64, "2262-04-11T23:47:16.854775807Z"},
		{FormNanos, math.MinInt64 + 1, "1677-09-21T00:12:43.145224193Z"},
		{FormNanos, math.MinInt64, "NaT"},
	} {
		got := AppendTime(nil, c.value, c.form)
		if string(got) != c.want {
			t.Errorf("%d: %s, want %s", c.value, got, c.want)
		}
		if back, ok := ParseTime(string(got), c.form); !ok || back != c.value {
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
