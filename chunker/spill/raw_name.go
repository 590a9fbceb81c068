package spill

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A RawName is a file name, which may consist of any bytes. In JSON it is a string if it is valid
// UTF-8; otherwise it is an array of numbers.
type RawName string

// MarshalJSON implements json.Marshaler.
func (n RawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	numbers := make([]int, len(n))
	for i := range len(n) {
		numbers[i] = int(n[i])
	}
	return json.Marshal(numbers)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *RawName) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*string)(n))
	}
	var numbers []int
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	raw := make([]byte, len(numbers))
	for i, number := range numbers {
		raw[i] = byte(number)
	}
	*n = RawName(raw)
	return nil
}
