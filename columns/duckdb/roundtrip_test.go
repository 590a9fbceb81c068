package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/columns"
)

// A kind is a type of DuckDB with an expression for values, in which $h is a random HUGEINT from 0 to 2^64-1.
type kind struct {
	name  string
	value string
	float bool
}

var kinds = []kind{
	{"BOOLEAN", "$h % 2 = 0", false},
	{"TINYINT", "($h % 256 - 128)::TINYINT", false},
	{"SMALLINT", "($h % 65536 - 32768)::SMALLINT", false},
	{"INTEGER", "($h % 4294967296 - 2147483648)::INTEGER", false},
	{"BIGINT", "($h - 9223372036854775808)::BIGINT", false},
	{"UTINYINT", "($h % 256)::UTINYINT", false},
	{"USMALLINT", "($h % 65536)::USMALLINT", false},
	{"UINTEGER", "($h % 4294967296)::UINTEGER", false},
	{"UBIGINT", "$h::UBIGINT", false},
	{"FLOAT", "CASE WHEN $h % 7 = 0 THEN 'nan'::FLOAT WHEN $h % 11 = 0 THEN '-inf'::FLOAT " +
		"ELSE ($h % 1000 - 500)::FLOAT / 8 END", true},
	{"DOUBLE", "CASE WHEN $h % 7 = 0 THEN 'nan'::DOUBLE WHEN $h % 11 = 0 THEN -0.0 " +
		"ELSE ($h - 9223372036854775808)::DOUBLE END", true},
	{"DECIMAL(4,1)", "(($h % 19999 - 9999)::DECIMAL(18,1) / 10)::DECIMAL(4,1)", false},
	{"DECIMAL(9,2)", "(($h % 199999 - 99999)::DECIMAL(18,2) / 100)::DECIMAL(9,2)", false},
	{"DECIMAL(18,4)", "(($h % 199999999 - 99999999)::DECIMAL(18,4) / 100)::DECIMAL(18,4)", false},
	{"DECIMAL(38,6)", "(($h % 199999999 - 99999999)::DECIMAL(38,6) / 100)::DECIMAL(38,6)", false},
	{"DATE", "DATE '1970-01-01' + ($h % 60000 - 30000)::INTEGER", false},
	{"TIME", "TIME '00:00:00' + to_microseconds(($h % 86400000000)::BIGINT)", false},
	{"TIMESTAMP", "make_timestamp(($h % 4000000000000000)::BIGINT)", false},
	{"TIMESTAMP_MS", "make_timestamp(($h % 4000000000000000)::BIGINT)::TIMESTAMP_MS", false},
	{"TIMESTAMP_NS", "make_timestamp(($h % 4000000000000000)::BIGINT)::TIMESTAMP_NS", false},
	{"TIMESTAMPTZ", "make_timestamp(($h % 4000000000000000)::BIGINT)::TIMESTAMPTZ", false},
	{"UUID", "md5($h::VARCHAR)::UUID", false},
	{"VARCHAR", "CASE WHEN $h % 3 = 0 THEN '' ELSE repeat('é', ($h % 5)::BIGINT) || $h::VARCHAR END", false},
	{"BLOB", "md5($h::VARCHAR)::BLOB", false},
}

// tables is the number of random tables: EXTSORT_TEST_TABLES, or few.
func tables(tb testing.TB) int {
	text := os.Getenv("EXTSORT_TEST_TABLES")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("EXTSORT_TEST_TABLES: %v", err)
	}
	return n
}

// TestRoundTrip lets DuckDB write random tables, sorts them, and lets DuckDB compare the output with its own order.
func TestRoundTrip(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"SET threads = 1", "SET memory_limit = '512MB'", "SET TimeZone = 'UTC'"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(tables(t)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { roundTrip(t, db, rand.New(rand.NewPCG(seed, 60))) })
	}
}

func roundTrip(t *testing.T, db *sql.DB, rng *rand.Rand) {
	folder := t.TempDir()
	in := filepath.Join(folder, "in.parquet")
	out := filepath.Join(folder, "out.parquet")
	var names, selected []string
	var chosen []kind
	for i := range 1 + rng.IntN(6) {
		k := kinds[rng.IntN(len(kinds))]
		h := fmt.Sprintf("(hash(i * 8 + %d + %d * 1000003)::HUGEINT)", i, rng.IntN(1000))
		if rng.IntN(3) == 0 { // few different values
			h = fmt.Sprintf("((%s) %% %d)", h, 1+rng.IntN(50))
		}
		value := strings.ReplaceAll(k.value, "$h", h)
		if rng.IntN(2) == 0 {
			value = fmt.Sprintf("CASE WHEN hash(i + %d) %% 5 = 0 THEN NULL ELSE %s END", i, value)
		}
		names = append(names, fmt.Sprintf("c%d", i))
		selected = append(selected, fmt.Sprintf("(%s)::%s AS c%d", value, k.name, i))
		chosen = append(chosen, k)
	}
	rows := []int{0, 1, 100, 3000, 20000}[rng.IntN(5)]
	codec := []string{"uncompressed", "snappy", "zstd", "gzip", "lz4_raw", "brotli"}[rng.IntN(6)]
	run(t, db, fmt.Sprintf("COPY (SELECT %s FROM range(%d) r(i)) TO '%s' "+
		"(FORMAT parquet, COMPRESSION %s, ROW_GROUP_SIZE %d)",
		strings.Join(selected, ", "), rows, in, codec, 2048*(1+rng.IntN(5))))

	opt := columns.Options{
		Inputs:        []string{in},
		Output:        out,
		NullsFirst:    rng.IntN(2) == 0,
		NaN:           extsort.NaNLast,
		NumericFloats: true,
		Memory:        columns.MinMemory,
		TempDirs:      []string{folder},
		Strategy:      []extsort.Strategy{"", extsort.StrategyMerge, extsort.StrategyPartition}[rng.IntN(3)],
	}
	var order []string
	hasFloat := false
	for _, i := range rng.Perm(len(names))[:1+rng.IntN(min(3, len(names)))] {
		isDesc := rng.IntN(2) == 0
		if chosen[i].float { // DuckDB reverses the place of NaNs in descending order
			if hasFloat {
				continue
			}
			hasFloat = true
			if isDesc {
				opt.NaN = extsort.NaNFirst
			}
		}
		opt.Keys = append(opt.Keys, columns.Key{Column: names[i], Desc: isDesc})
		words := names[i]
		if isDesc {
			words += " DESC"
		}
		if opt.NullsFirst {
			words += " NULLS FIRST"
		} else {
			words += " NULLS LAST"
		}
		order = append(order, words)
	}
	if _, err := columns.Sort(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if report, err := columns.Check(context.Background(), columns.Options{
		Inputs:        []string{out},
		Keys:          opt.Keys,
		NullsFirst:    opt.NullsFirst,
		NaN:           opt.NaN,
		NumericFloats: true,
		Memory:        columns.MinMemory,
	}); err != nil || report.Disorder != 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
	var differ []string
	for _, name := range names {
		differ = append(differ, fmt.Sprintf("a.%[1]s IS DISTINCT FROM b.%[1]s", name))
	}
	query := fmt.Sprintf(`WITH a AS (SELECT *, row_number() OVER (ORDER BY %s, file_row_number) AS n
			FROM read_parquet('%s', file_row_number = true)),
		b AS (SELECT *, file_row_number + 1 AS n FROM read_parquet('%s', file_row_number = true))
		SELECT count(*) FILTER (WHERE a.n IS NULL OR b.n IS NULL OR %s), count(*) FROM a FULL JOIN b ON a.n = b.n`,
		strings.Join(order, ", "), in, out, strings.Join(differ, " OR "))
	var wrong, total int
	if err := db.QueryRow(query).Scan(&wrong, &total); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if wrong != 0 || total != rows {
		t.Errorf("%d of %d rows differ, of %d: order by %s, %s", wrong, total, rows, strings.Join(order, ", "),
			strings.Join(selected, ", "))
	}
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
