package columns

import (
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// TestParseTimestamps parses times that the unit of a column can and cannot hold.
func TestParseTimestamps(t *testing.T) {
	const bad = -1
	for _, row := range []struct {
		unit schema.TimeUnitType
		text string
		want int64
	}{
		{schema.TimeUnitMillis, "1970-01-02", 86_400_000},
		{schema.TimeUnitMillis, "1970-01-01T00:00:01.5Z", 1500},
		{schema.TimeUnitMillis, "1969-12-31T23:59:59.998Z", -2},
		{schema.TimeUnitMillis, "1970-01-01T00:00:01.0005Z", bad},
		{schema.TimeUnitMillis, "9999-12-31", 253_402_214_400_000},
		{schema.TimeUnitMicros, "9999-12-31", 253_402_214_400_000_000},
		{schema.TimeUnitNanos, "2262-01-01", 9_214_646_400_000_000_000},
		{schema.TimeUnitNanos, "9999-12-31", bad},
		{schema.TimeUnitNanos, "1600-01-01", bad},
	} {
		node, err := schema.NewPrimitiveNodeLogical("t", parquet.Repetitions.Required,
			schema.NewTimestampLogicalType(true, row.unit), parquet.Types.Int64, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := newColumn(schema.NewColumn(node, 0, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		value, err := c.parseValue(row.text)
		if row.want == bad && err == nil || row.want != bad && (err != nil || signed(value) != row.want) {
			t.Errorf("%s of unit %v: %d, %v", row.text, row.unit, value, err)
		}
	}
}
