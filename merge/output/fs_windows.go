package output

// SyncFolder does nothing: a folder cannot be opened to be synced.
func (systemFS) SyncFolder(string) error { return nil }
