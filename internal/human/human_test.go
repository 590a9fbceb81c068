package human

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "0 B", 0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1025: "1 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1 MiB", 1 << 20: "1 MiB", 1023<<10 + 511: "1023 KiB", 8_000_000: "7.6 MiB", 10 << 20: "10 MiB",
		10<<20 - 1: "10 MiB", 600 << 20: "600 MiB", 1 << 30: "1 GiB", 500 << 30: "500 GiB", 1000 << 30: "1000 GiB",
		1 << 40: "1 TiB", 3 << 49: "1.5 PiB", 1<<63 - 1: "8 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		n       int64
		seconds float64
		want    string
	}{
		{1 << 30, 2, "512 MiB/s"}, {1 << 20, 1, "1 MiB/s"}, {0, 1, "-"}, {1, 0, "-"}, {1000, 1e-9, "931 GiB/s"},
	} {
		if got := Rate(c.n, c.seconds); got != c.want {
			t.Errorf("Rate(%d, %v) is %q, want %q", c.n, c.seconds, got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		seconds         float64
		time, estimated string
	}{
		{0, "0 s", "less than a second"}, {85e-6, "85 µs", "less than a second"},
		{0.9996e-3, "1 ms", "less than a second"}, {0.012, "12 ms", "less than a second"},
		{0.9996, "1.0 s", "about 1.0 s"}, {2.5, "2.5 s", "about 2.5 s"}, {9.94, "9.9 s", "about 9.9 s"},
		{9.96, "10 s", "about 10 s"}, {45.4, "45 s", "about 45 s"}, {119.4, "119 s", "about 119 s"},
		{119.6, "2 min", "about 2 min"}, {125, "2 min 5 s", "about 2 min"}, {1287, "21 min 27 s", "about 21 min"},
		{1784, "29 min 44 s", "about 30 min"}, {7199.6, "2 h", "about 2 h"}, {7500, "2 h 5 min", "about 2.1 h"},
		{86400, "24 h", "about 24 h"}, {47.6 * 3600, "47 h 36 min", "about 2 days"},
		{76 * 3600, "3 days 4 h", "about 3.2 days"}, {1e9, "11574 days 2 h", "about 11574 days"},
	} {
		if got := Time(c.seconds); got != c.time {
			t.Errorf("Time(%v) is %q, want %q", c.seconds, got, c.time)
		}
		if got := About(c.seconds); got != c.estimated {
			t.Errorf("About(%v) is %q, want %q", c.seconds, got, c.estimated)
		}
	}
}
