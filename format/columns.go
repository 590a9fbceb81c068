package format

import (
	"fmt"
	"strconv"
	"strings"
)

// columns are values of one type that follow each other in a record, as in a row of an array of two dimensions.
type columns struct {
	n     int
	first ArrayField
}

// field resolves COLUMN[:desc], the first column being 0, or OFFSET:TYPE[:desc].
func (c columns) field(key string) (Field, error) {
	number, direction, _ := strings.Cut(key, ":")
	if strings.Contains(key, ":") && direction != "desc" && direction != "asc" {
		return ParseField(key)
	}
	at, err := strconv.Atoi(number)
	switch {
	case err != nil || at < 0 || at >= c.n:
		return Field{}, fmt.Errorf("key %q: there is no such column: a record has the columns 0 to %d", key, c.n-1)
	case c.first.Why != "":
		return Field{}, fmt.Errorf("key %q: %s", key, c.first.Why)
	}
	f := c.first.Field
	f.Offset, f.Desc = f.Offset+at*f.Type.Size, direction == "desc"
	return f, nil
}

// layout is that of records of so many bytes by keys, which may be left out where there is one column.
func (c columns) layout(s Spec, recordSize int) (Layout, error) {
	keys := s.Keys
	if len(keys) == 0 && c.n == 1 {
		keys = []string{"0"}
	}
	if len(keys) == 0 {
		return Layout{}, fmt.Errorf("a record has %d columns, so give those to sort by, the first deciding, "+
			"as Record.Keys COLUMN[:desc], from 0 to %d", c.n, c.n-1)
	}
	s.Keys = keys
	return s.keyedLayout(recordSize, c.field)
}
