// The checksums of Kubernetes and of the modules whose CRDs the end-to-end tests install: see ../module-files.ts.
module machineconfig-guard.io/modules

go 1.24
