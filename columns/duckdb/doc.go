// Package duckdb contains only tests: DuckDB is the oracle of sorts of Parquet files.
//
// Only the root package of this module is stable: this package may change in any version.
package duckdb
