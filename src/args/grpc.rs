//! Flags of the gRPC registry API.

use serving::CatalogName;

use super::access::AuthMode;
use super::values::parse_listen;

/// Flags of the gRPC registry API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// Address to serve OLM v0's gRPC API on, such as `:50051`: of all catalogs, or with `CATALOG=` of one. May be repeated
    #[arg(long, value_name = "[CATALOG=]HOST:PORT", value_parser = parse_grpc)]
    pub grpc: Vec<GrpcAddress>,
    /// Who may see which catalogs over gRPC; OLM v0 sends no credentials [default: as --auth]
    #[arg(long, value_name = "WHO", value_enum, requires = "grpc")]
    pub grpc_auth: Option<AuthMode>,
    /// Serve gRPC without TLS, as OLM v0 expects it, whatever the other listeners do
    #[arg(long, requires = "grpc")]
    pub grpc_plaintext: bool,
}

/// An address to serve gRPC on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcAddress {
    /// The catalog that its calls are about; `None` where they say so.
    pub catalog: Option<String>,
    /// `HOST:PORT`.
    pub listen: String,
}

fn parse_grpc(text: &str) -> Result<GrpcAddress, String> {
    let Some((name, listen)) = text.split_once('=') else {
        return Ok(GrpcAddress { catalog: None, listen: parse_listen(text)? });
    };
    let name = CatalogName::new(name).map_err(|error| error.to_string())?;
    Ok(GrpcAddress { catalog: Some(name.to_string()), listen: parse_listen(listen)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_grpc_is_of_one_catalog_or_of_all() {
        let address = |catalog: Option<&str>, listen: &str| {
            Ok(GrpcAddress { catalog: catalog.map(ToOwned::to_owned), listen: listen.to_owned() })
        };
        assert_eq!(parse_grpc(":50051"), address(None, "[::]:50051"));
        assert_eq!(parse_grpc("community=50052"), address(Some("community"), "127.0.0.1:50052"));
        for text in ["", "=50051", "A=50051", "community=", "community=a=1"] {
            assert!(parse_grpc(text).is_err(), "{text}");
        }
    }
}
