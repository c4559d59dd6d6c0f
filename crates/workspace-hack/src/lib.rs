//! Nothing: the manifest turns on features of dependencies, so that tests use what `make run` has
//! compiled.
