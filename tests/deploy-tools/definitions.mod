// Where the definitions come from of the objects of others that deploy/ names.
module catalogql.io/tests/deploy-tools

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/openshift/api v0.0.0-20250711200046-c86d80652a9e
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.6.3
)
