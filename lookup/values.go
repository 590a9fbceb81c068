package lookup

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// specOf returns a record's description for package format.
func specOf(r *extsort.Record) format.Spec {
	spec := format.Spec{
		Format:     r.Format,
		Type:       string(r.Type),
		Member:     r.Member,
		RecordSize: r.Size,
		NaN:        string(r.NaN),
	}
	if r.NumericFloats {
		spec.Float = "numeric"
	}
	for _, key := range r.Keys {
		text := cmp.Or(key.Compute, key.Name)
		if text == "" {
			text = fmt.Sprintf("%d:%s", key.Offset, key.Type)
		}
		if key.Desc {
			text += ":desc"
		}
		spec.Keys = append(spec.Keys, text)
	}
	return spec
}

// isURL reports whether a path is a URL.
func isURL(path string) bool { return strings.Contains(path, "://") }

// lineOf returns values as a line of CSV.
func lineOf(columns []format.Column, values []any) (string, error) {
	if len(values) == 0 || len(values) > len(columns) {
		return "", keyError{fmt.Errorf("%d values were given, but the key has %d fields", len(values), len(columns))}
	}
	var cells []string
	for i, v := range values {
		text, err := textOf(columns[i], v)
		if err != nil {
			return "", keyError{err}
		}
		cells = append(cells, `"`+strings.ReplaceAll(text, `"`, `""`)+`"`)
	}
	return strings.Join(cells, ","), nil
}

// textOf returns a value as extsort print writes it.
func textOf(c format.Column, v any) (string, error) {
	switch v := v.(type) {
	case []byte:
		return textOfBytes(c, v)
	case string:
		if c.Type.Kind == format.Bytes && c.Type.Form == format.FormDefault && len(v) <= c.Type.Size {
			return textOfBytes(c, []byte(v))
		}
		return v, nil
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.999999999Z"), nil
	}
	number := reflect.ValueOf(v)
	switch {
	case number.CanInt():
		return strconv.FormatInt(number.Int(), 10), nil
	case number.CanUint():
		return strconv.FormatUint(number.Uint(), 10), nil
	case number.CanFloat():
		return strconv.FormatFloat(number.Float(), 'g', -1, 64), nil
	}
	return "", fmt.Errorf("field %s: a value of type %T is not a key", c.Name, v)
}

// textOfBytes returns the bytes of a byte string in hexadecimal, padded with zeros.
func textOfBytes(c format.Column, b []byte) (string, error) {
	padding := c.Type.Size - len(b)
	switch {
	case c.Type.Kind != format.Bytes:
		return "", fmt.Errorf("field %s: a []byte is only a key for bytes: use KeyOf for a record", c.Name)
	case padding < 0:
		return "", fmt.Errorf("field %s has %d bytes, but %d were given", c.Name, c.Type.Size, len(b))
	}
	return "0x" + hex.EncodeToString(b) + strings.Repeat("00", padding), nil
}
