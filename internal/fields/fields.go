// Package fields copies equally named fields between structs of options.
package fields

import "reflect"

// Shared returns a To. Each of its exported fields has the value of the field of from with the same
// name, if there is one.
func Shared[To any](from any) (to To) {
	source := reflect.ValueOf(from)
	target := reflect.ValueOf(&to).Elem()
	for _, field := range reflect.VisibleFields(source.Type()) {
		if same := target.FieldByName(field.Name); same.IsValid() && field.IsExported() {
			same.Set(source.FieldByIndex(field.Index))
		}
	}
	return to
}
