//! The parameters of a request.

use crate::error::DatasourceError;

/// Conditions on the versions of a package. An empty value is like an absent one, because templates of Renovate
/// are empty for what they do not know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Name of the only channel that counts.
    pub(crate) channel: Option<String>,
    /// Version that is installed. Only versions that it can be upgraded to count.
    pub(crate) from: Option<String>,
}

impl Parameters {
    pub(crate) fn parse(query: &str) -> Result<Self, DatasourceError> {
        let mut parameters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (name, place) = match &*name {
                "channel" => ("channel", &mut parameters.channel),
                "from" => ("from", &mut parameters.from),
                _ => return Err(DatasourceError::Parameter(name.into_owned())),
            };
            let is_repeated = place.replace(value.into_owned()).is_some();
            if is_repeated {
                return Err(DatasourceError::Repeated(name));
            }
        }
        parameters.channel = parameters.channel.filter(|channel| !channel.is_empty());
        parameters.from = parameters.from.filter(|from| !from.is_empty());
        Ok(parameters)
    }
}
