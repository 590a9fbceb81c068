// Package fields copies equally named fields between structs of options.
package fields

import "reflect"

// Shared is a To in which each exported field that from has by the same name has its value.
func Shared[To any](from any) (to To) {
	source, target := reflect.ValueOf(from), reflect.ValueOf(&to).Elem()
	for _, field := range reflect.VisibleFields(source.Type()) {
		if same := target.FieldByName(field.Name); same.IsValid() && field.IsExported() {
			same.Set(source.FieldByIndex(field.Index))
		}
	}
	return to
}
