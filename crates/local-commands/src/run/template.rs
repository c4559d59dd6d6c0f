//! `catalogql render-template`, `convert-template`, `init` and `migrate`, which `opm` has too.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use commands::file_argument::read_bytes;
use commands::output::hint;
use edit::blob::{CatalogBlob, sort};
use edit::bundle::arrange;
use edit::file::{SourceFile, path_of_package};
use edit::template::{TemplateKind, parse};
use edit::value::Members;
use edit::{BlobValue, FileFormat};
use fbc::detect_media_type;

use super::lines;
use super::output::{ignore_closed_pipe, warning};
use super::render::{self, BundleImageRenderer};
use crate::args::{ConvertTemplateArgs, InitArgs, MigrateArgs, RenderTemplateArgs};

/// Prints the blobs of a template.
pub(super) fn render_template(args: &RenderTemplateArgs) -> anyhow::Result<ExitCode> {
    let template = parse(&input(&args.template)?).with_context(|| named(&args.template))?;
    let detected = TemplateKind::detect(&template);
    let kind = match (args.kind.or(args.r#type).map(TemplateKind::from), detected) {
        // opm renders it to nothing.
        (Some(kind), Ok(detected)) if kind != detected => bail!(
            "{}: its schema is `{}`: leave the type out",
            named(&args.template),
            template.str("schema")
        ),
        (Some(kind), _) => kind,
        (None, detected) => detected.with_context(|| named(&args.template))?,
    };
    let directories: BTreeMap<&str, &str> = args
        .bundle
        .iter()
        .map(|text| {
            text.split_once('=')
                .with_context(|| format!("cannot use --bundle {text}: write IMAGE=DIR"))
        })
        .collect::<anyhow::Result<_>>()?;
    warn_of_unused(&template, directories.keys().copied());
    let mut images = BundleImageRenderer::new(&args.registries)?;
    let migration = args.migrate_level.migration();
    let mut image = |name: &str| {
        let rendered = match directories.get(name) {
            Some(directory) => render::bundle(Path::new(directory), name, migration),
            None => images.bundle(name, migration),
        };
        let rendered = rendered.map_err(|error| format!("{error:#}"))?;
        render::print_warnings(name, &rendered);
        Ok(rendered.blob)
    };
    let blobs = kind.render(&template, &mut image)?;
    print(&blobs, args.output.into())
}

/// Warns of images that a template does not name: a typo has another image pulled.
fn warn_of_unused<'a>(template: &BlobValue, images: impl Iterator<Item = &'a str>) {
    let text = template.to_json();
    let is_unused = |image: &&str| !text.contains(&BlobValue::text(*image).to_json());
    for image in images.filter(is_unused) {
        hint(&format!(
            "{} the template names no bundle `{image}`: its directory is not read",
            warning()
        ));
    }
}

/// Prints a template that renders to a catalog.
pub(super) fn convert_template(args: &ConvertTemplateArgs) -> anyhow::Result<ExitCode> {
    let path = args.catalog.display().to_string();
    let file = SourceFile::read(&path, &input(&args.catalog)?)?;
    let blobs = file
        .lines()
        .iter()
        .map(|line| BlobValue::parse(line))
        .collect::<Result<_, _>>()?;
    let blobs: Vec<BlobValue> = blobs;
    if let Some(template) = blobs.iter().find(|blob| TemplateKind::detect(blob).is_ok()) {
        bail!(
            "cannot convert `{path}`: it is a template, of the schema `{}`, and no catalog",
            template.str("schema")
        );
    }
    let template = TemplateKind::from(args.r#type)
        .convert(blobs)
        .ok_or_else(|| {
            anyhow!("cannot convert a catalog to an olm.semver template: use basic or substitutes")
        })?;
    print(&[template], args.output.into())
}

/// Prints the blob of a new package.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let mut members: Members = [("schema", "olm.package"), ("name", &args.package)]
        .map(|(key, text)| (key.to_owned(), BlobValue::text(text)))
        .into();
    members.insert(
        "defaultChannel".to_owned(),
        BlobValue::text(&*args.default_channel),
    );
    if let Some(path) = &args.description {
        let text = String::from_utf8(input(path)?)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        members.insert("description".to_owned(), BlobValue::text(text));
    }
    if let Some(path) = &args.icon {
        let bytes = input(path)?;
        let media_type = detect_media_type(&bytes).with_context(|| {
            format!("cannot use `{}` as an icon: it is no image", path.display())
        })?;
        let data = BASE64_STANDARD.encode(bytes);
        let icon = [
            ("base64data", BlobValue::text(data)),
            ("mediatype", BlobValue::text(media_type)),
        ];
        members.insert("icon".to_owned(), BlobValue::object(icon));
    }
    print(&[BlobValue::Object(members)], args.output.into())
}

/// Writes a catalog to a directory with a folder for each package.
pub(super) fn migrate(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    let writing = || format!("cannot write to `{}`", directory.display());
    if directory.is_dir()
        && fs::read_dir(directory)
            .with_context(writing)?
            .next()
            .is_some()
    {
        bail!(
            "cannot write to `{}`: it must be empty",
            directory.display()
        );
    }
    let texts = lines::read(&args.source, &args.images)?;
    let mut blobs: Vec<CatalogBlob> = texts
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| CatalogBlob::from_line(0, line))
        .collect();
    sort(&mut blobs);
    let format = FileFormat::from(args.output);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for blob in &blobs {
        let value =
            render::migrate_if_needed(arrange(blob.value()?), args.migrate_level.migration());
        let path = path_of_package(&blob.package, format)?;
        format.write(&value, texts.entry(path).or_default());
    }
    for (path, text) in texts {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap_or(directory)).with_context(writing)?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn input(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_bytes(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn named(path: &Path) -> String {
    format!("cannot render template `{}`", path.display())
}

fn print(blobs: &[BlobValue], format: FileFormat) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for blob in blobs {
        format.write(blob, &mut text);
    }
    ignore_closed_pipe(io::stdout().write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
