// The checksums of the modules whose CRDs the end-to-end tests install: see ../module-files.ts.
module machineconfig-guard.io/crds

go 1.24
