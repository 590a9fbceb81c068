package format

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// fromWords sets the fields of a struct from words such as "RecordSize=12 Keys=0:u8,4:u32". In a
// string, a semicolon is a space. "-" sets nothing.
func fromWords[T any](t *testing.T, text string) (made T) {
	t.Helper()
	value := reflect.ValueOf(&made).Elem()
	for word := range strings.FieldsSeq(strings.TrimPrefix(text, "-")) {
		name, setting, _ := strings.Cut(word, "=")
		setting = strings.ReplaceAll(setting, ";", " ")
		switch field := value.FieldByName(name); field.Interface().(type) {
		case string:
			field.SetString(setting)
		case []string:
			field.Set(reflect.ValueOf(strings.Split(setting, ",")))
		case bool:
			field.SetBool(setting == "true")
		case int:
			n, err := strconv.Atoi(setting)
			if err != nil {
				t.Fatal(err)
			}
			field.SetInt(int64(n))
		}
	}
	return made
}
