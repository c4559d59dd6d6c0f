//! Metrics of gRPC calls.

use ::metrics::{Counter, Family, labels};
use tonic::Code;

labels! {
    /// A call, as metrics name it.
    pub enum Call {
        /// `api.Registry/ListPackages`
        ListPackages = "ListPackages",
        /// `api.Registry/GetPackage`
        GetPackage = "GetPackage",
        /// `api.Registry/GetBundle`
        GetBundle = "GetBundle",
        /// `api.Registry/GetBundleForChannel`
        GetBundleForChannel = "GetBundleForChannel",
        /// `api.Registry/GetChannelEntriesThatReplace`
        GetChannelEntriesThatReplace = "GetChannelEntriesThatReplace",
        /// `api.Registry/GetBundleThatReplaces`
        GetBundleThatReplaces = "GetBundleThatReplaces",
        /// `api.Registry/GetChannelEntriesThatProvide`
        GetChannelEntriesThatProvide = "GetChannelEntriesThatProvide",
        /// `api.Registry/GetLatestChannelEntriesThatProvide`
        GetLatestChannelEntriesThatProvide = "GetLatestChannelEntriesThatProvide",
        /// `api.Registry/GetDefaultBundleThatProvides`
        GetDefaultBundleThatProvides = "GetDefaultBundleThatProvides",
        /// `api.Registry/ListBundles`
        ListBundles = "ListBundles",
        /// `api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas`
        ListCustomSchemas = "ExperimentalListPackageCustomSchemas",
        /// `grpc.health.v1.Health/Check`
        Check = "Check",
        /// `ServerReflectionInfo` of both versions of reflection.
        Reflect = "ServerReflectionInfo",
        /// Any other path.
        Unknown = "other",
    }
}

labels! {
    /// Status of a call, as metrics name it.
    pub enum CallStatus {
        /// `OK`
        Ok = "OK",
        /// `UNKNOWN`: upstream's code for an item that does not exist.
        Unknown = "UNKNOWN",
        /// `INVALID_ARGUMENT`
        InvalidArgument = "INVALID_ARGUMENT",
        /// `FAILED_PRECONDITION`: the call names no catalog, and several are served.
        FailedPrecondition = "FAILED_PRECONDITION",
        /// `UNAVAILABLE`: no catalog is served.
        Unavailable = "UNAVAILABLE",
        /// `UNIMPLEMENTED`
        Unimplemented = "UNIMPLEMENTED",
        /// Any other status.
        Other = "other",
    }
}

/// Metrics of the calls of all listeners.
#[derive(Debug, Default)]
pub struct GrpcMetrics {
    /// Calls by name, and by the status with which their response begins: `OK` where messages come
    /// first.
    pub calls: Family<Call, Family<CallStatus, Counter>>,
}

impl GrpcMetrics {
    pub(crate) fn count(&self, call: Call, code: Code) {
        let outcome = match code {
            Code::Ok => CallStatus::Ok,
            Code::Unknown => CallStatus::Unknown,
            Code::InvalidArgument => CallStatus::InvalidArgument,
            Code::FailedPrecondition => CallStatus::FailedPrecondition,
            Code::Unavailable => CallStatus::Unavailable,
            Code::Unimplemented => CallStatus::Unimplemented,
            _ => CallStatus::Other,
        };
        self.calls[call][outcome].inc();
    }
}

impl Call {
    /// Returns the call of a service and a method; `None` for an unknown one.
    pub(crate) fn from_method(service: &str, method: &str) -> Option<Self> {
        let call = ::metrics::Label::ALL
            .iter()
            .copied()
            .find(|call: &Self| ::metrics::Label::as_str(*call) == method)?;
        (call.service_matches(service) && call != Self::Unknown).then_some(call)
    }

    fn service_matches(self, service: &str) -> bool {
        match self {
            Self::Check => service == "grpc.health.v1.Health",
            Self::Reflect => service.starts_with("grpc.reflection."),
            Self::ListCustomSchemas => service == "api.ExperimentalRegistry",
            _ => service == "api.Registry",
        }
    }

    /// Returns whether the call searches the whole catalog before it answers.
    pub(crate) fn is_search(self) -> bool {
        matches!(
            self,
            Self::GetChannelEntriesThatReplace
                | Self::GetChannelEntriesThatProvide
                | Self::GetLatestChannelEntriesThatProvide
                | Self::GetDefaultBundleThatProvides
        )
    }

    /// Returns whether its response is a stream of messages.
    pub(crate) fn is_streamed(self) -> bool {
        matches!(
            self,
            Self::ListPackages
                | Self::GetChannelEntriesThatReplace
                | Self::GetChannelEntriesThatProvide
                | Self::GetLatestChannelEntriesThatProvide
                | Self::ListBundles
                | Self::ListCustomSchemas
        )
    }

    /// Returns whether the call reads a bundle, or sorts channels, before it answers.
    pub(crate) fn reads_first(self) -> bool {
        matches!(
            self,
            Self::GetBundle
                | Self::GetBundleForChannel
                | Self::GetBundleThatReplaces
                | Self::ListBundles
        )
    }

    /// Returns whether its messages can have manifests or whole blobs.
    pub(crate) fn is_large(self) -> bool {
        matches!(
            self,
            Self::GetBundle
                | Self::GetBundleForChannel
                | Self::GetBundleThatReplaces
                | Self::ListBundles
                | Self::ListCustomSchemas
        )
    }
}
