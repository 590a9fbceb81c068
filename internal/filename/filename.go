// Package filename compares the names of files, and writes them into JSON. A name may consist of
// any bytes, but a JSON string must be UTF-8. So a name that isn't valid UTF-8 appears twice: a
// readable form in the field NAME, with U+FFFD for each invalid byte, and the exact bytes in the
// field NAME_base64.
package filename

import "unicode/utf8"

// Raw returns the bytes of a name that a JSON string cannot represent, or nil if it can.
func Raw(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return []byte(name)
}

// RawAll returns the bytes of all names if a JSON string cannot represent one of them, and nil
// otherwise.
func RawAll(names []string) (raw [][]byte) {
	valid := true
	for _, name := range names {
		raw = append(raw, []byte(name))
		valid = valid && utf8.ValidString(name)
	}
	if valid {
		return nil
	}
	return raw
}

// Restore returns the name that was written as a string and as raw bytes, which may be nil.
func Restore(name string, raw []byte) string {
	if len(raw) > 0 {
		return string(raw)
	}
	return name
}
