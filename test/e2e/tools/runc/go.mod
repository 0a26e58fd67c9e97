module azcsi.dev/test/e2e/tools/runc

go 1.26.0

require github.com/opencontainers/runc v1.5.3
