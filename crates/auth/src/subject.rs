//! Subject of a client certificate, from which the API server reads a user.

use rustls::pki_types::CertificateDer;
use yasna::{ASN1Result, BERReader, Tag};

/// Object identifiers of the attributes `CN` and `O` (RFC 4519).
const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

/// Subject of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The common name; empty if there is none. Of several the last counts.
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
}

impl Subject {
    /// Returns the subject of a certificate, as far as it can be read (RFC 5280 §4.1).
    pub(crate) fn from_certificate(certificate: &CertificateDer<'_>) -> Self {
        let mut subject = Self::default();
        // The parser reports that the fields after the subject were not read. A certificate that is
        // broken before them leaves the subject empty, and an empty name is no user.
        let _ = yasna::parse_der(certificate, |reader| {
            reader.read_sequence(|reader| {
                reader.next().read_sequence(|reader| {
                    reader.read_optional(|reader| {
                        reader.read_tagged(Tag::context(0), |version| version.read_u8().map(drop))
                    })?;
                    // Serial number, signature algorithm, issuer, validity.
                    for _ in 0..4 {
                        reader.next().read_der()?;
                    }
                    subject.read(reader.next())
                })
            })
        });
        subject
    }

    fn read(&mut self, name: BERReader<'_, '_>) -> ASN1Result<()> {
        name.read_sequence_of(|relative| {
            relative.read_set_of(|attribute| {
                attribute.read_sequence(|attribute| {
                    let kind = attribute.next().read_oid()?;
                    let value = attribute.next().read_tagged_der()?;
                    match (kind.components().as_slice(), value.as_str()) {
                        (COMMON_NAME, Some(text)) => text.clone_into(&mut self.common_name),
                        (ORGANIZATION, Some(text)) => self.organizations.push(text.to_owned()),
                        _ => {}
                    }
                    Ok(())
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    #[test]
    fn the_subject_of_a_certificate_has_a_name_and_groups() {
        let mut params = CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CountryName, "DE");
        params
            .distinguished_name
            .push(DnType::OrganizationName, "team:ä");
        params.distinguished_name.push(DnType::CommonName, "ann");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let expected = Subject {
            common_name: "ann".to_owned(),
            organizations: vec!["team:ä".to_owned()],
        };
        assert_eq!(Subject::from_certificate(certificate.der()), expected);
        let cut = CertificateDer::from(&certificate.der()[..40]);
        assert_eq!(Subject::from_certificate(&cut), Subject::default());
        assert_eq!(
            Subject::from_certificate(&CertificateDer::from(&b"none"[..])),
            Subject::default()
        );
    }
}
