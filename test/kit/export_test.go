package kit

// PostgresTemplate returns the name of a server's migrated database.
var PostgresTemplate = postgresTemplate

// TemplatePrefix begins such names.
const TemplatePrefix = templatePrefix
