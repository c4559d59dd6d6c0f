// cosign with its former format of signatures: attachments.
module catalogql.test/conformance/signatures

go 1.26.3

tool github.com/sigstore/cosign/v2/cmd/cosign

require github.com/sigstore/cosign/v2 v2.6.5
