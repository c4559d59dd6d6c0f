//! `catalogql certificate`: a Secret with a certificate for the server, for clusters without an
//! issuer of certificates.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

use super::output;
use crate::args::{CertificateArgs, ServiceName};

/// Validity of certificates.
const VALIDITY: Duration = Duration::from_hours(365 * 24);

/// Time before now from which certificates are valid, for clients whose clocks are late.
const CLOCK_SKEW: Duration = Duration::from_hours(1);

/// Prints the Secret.
pub(super) fn certificate(args: &CertificateArgs) -> anyhow::Result<ExitCode> {
    let secret = secret(&args.services)?;
    output::ignore_closed_pipe(io::stdout().write_all(secret.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a Secret of the first Service, with a certificate for the names of all of them.
fn secret(services: &[ServiceName]) -> Result<String, rcgen::Error> {
    let ServiceName { service, namespace } = &services[0];
    let authority = authority(&format!("{service}.{namespace} authority"))?;
    let key = KeyPair::generate()?;
    let names: Vec<_> = services.iter().flat_map(names).collect();
    let mut params = params(
        CertificateParams::new(names)?,
        &format!("{service}.{namespace}.svc"),
    );
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &authority)?;
    let [ca, certificate, key] =
        [authority.pem(), certificate.pem(), key.serialize_pem()].map(|pem| STANDARD.encode(pem));
    Ok(format!(
        "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata:\n  name: {service}-tls\n  namespace: {namespace}\n\
         data:\n  ca.crt: {ca}\n  tls.crt: {certificate}\n  tls.key: {key}\n"
    ))
}

/// Creates an authority for one certificate. Its key is dropped with it, so that it issues no
/// other.
fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut params = params(CertificateParams::new(Vec::new())?, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

/// Sets the validity and the name, as both certificates have them.
fn params(mut params: CertificateParams, name: &str) -> CertificateParams {
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + VALIDITY).into();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Returns the names of a Service in its cluster.
fn names(ServiceName { service, namespace }: &ServiceName) -> [String; 4] {
    [
        service.clone(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ]
}
