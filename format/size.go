package format

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
)

// ParseSize reads a number of bytes: plain, or with K M G T P E for powers of 1024, or with a unit that says
// itself what it means, KiB = 1024 and KB = 1000.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	if n := len(text); n > 1 && strings.ContainsRune("kmgtpeKMGTPE", rune(text[n-1])) {
		text += "iB" // to humanize, K alone is 1000
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || strings.Contains(text, ",") || n > math.MaxInt64 {
		return 0, fmt.Errorf("size %q: give bytes, or a number with K M G T (powers of 1024), KiB MiB … or KB MB …, "+
			"such as 512M", s)
	}
	return int64(n), nil
}
