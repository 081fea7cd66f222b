//! Reads a RACK.toml and the files that it names.

use super::compiled::{compile_app, compile_from, with_regions};
use crate::captures;
use crate::entries::{self, Entries};
use crate::files::Disk;
use crate::handlers::{self, Offers};
use crate::hot;
use crate::jobs::{self, Jobs};
use crate::merged::{self, Joined, Sharer, Sharing};
use crate::pinned::{self, PinnedApp};
use crate::sources;
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
use ir::Program;
use p4_arch::Texts;
use p4_syntax::{Loader, Options};
use rack_emulator::Captures;
use rack_model::{App, Cuts, DeviceClass, DeviceId, Rack, Spanned};
use rack_plan::RuleText;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Read {
    pub(super) rack: Rack,
    pub(super) apps: Vec<ReadApp>,
    /// Rules for plans.
    pub(super) rules: Vec<RuleText>,
    pub(super) own_entries: BTreeMap<(usize, usize), Entries>,
    pub(super) stage_entries: Vec<Vec<((usize, usize), Entries)>>,
    pub(super) captures: Captures,
    pub(super) jobs: Option<Jobs>,
    pub(super) directory: PathBuf,
    pub(super) warnings: Vec<Diagnostic>,
}

#[derive(Clone)]
pub(super) struct ReadApp {
    pub(super) program: Arc<Program>,
    pub(super) entries: Entries,
    /// The apps that were merged to this one.
    pub(super) sharing: Option<Sharing>,
    pub(super) offers: Offers,
    /// As in [`super::SplitApp`].
    pub(super) pinned: Vec<PinnedApp>,
    pub(super) own: Vec<(String, Arc<Program>)>,
}

pub(super) fn read(
    path: &Path,
    extra_defines: &[String],
    loader: &dyn Loader,
    map: &mut SourceMap,
    change: &dyn Fn(&mut Rack),
) -> Result<Read, Vec<Diagnostic>> {
    let (mut rack, file, mut found) = model(path, map)?;
    let directory = directory(&file);
    change(&mut rack);
    let jobs = jobs::read(&rack, &directory, map)?;
    jobs.iter().for_each(|jobs| jobs.add_apps(&mut rack));
    let shared = merged::refuse(&rack);
    if !shared.is_empty() {
        return Err(shared);
    }
    if rack.apps.is_empty() {
        let diagnostic = Diagnostic::error(codes::ONE_APP, "the rack has no app")
            .note(format!("`{}` describes none", file.display()));
        return Err(vec![diagnostic.help("describe a program under `[[app]]`, or a job under `[[job]]`")]);
    }
    let generated = |app: &App| jobs.as_ref().and_then(|jobs| jobs.programs.get(&app.name.value));
    let mut programs: Vec<Arc<Program>> = vec![];
    for (at, app) in rack.apps.iter().enumerate() {
        let class = |app: &App| rack.devices[app.origin.value.0 as usize].class;
        // Apps with equal inputs share the compiled program, and its diagnostics.
        let alike = |known: &App| {
            let defines =
                |app: &App| app.defines.iter().map(|(n, v)| (n.value.clone(), v.value.clone())).collect();
            let include = |app: &App| app.include.iter().map(|dir| dir.value.clone()).collect();
            let what = |app: &App| -> (String, Vec<(String, String)>, Vec<String>, Cuts, DeviceClass) {
                (app.program.value.clone(), defines(app), include(app), app.cuts, class(app))
            };
            known.pinning.is_none() && app.pinning.is_none() && what(known) == what(app)
        };
        let known = rack.apps[..at].iter().position(alike).and_then(|known| programs.get(known));
        programs.push(match known {
            Some(known) => Arc::clone(known),
            None => match generated(app) {
                Some((source, _)) => {
                    let main = app.program.value.as_str();
                    compile_from(main, &Texts(&[(main, source)]), &Options::default(), map, &mut found)?
                }
                None => {
                    let program = compile_app(app, &directory, extra_defines, loader, map, &mut found)?;
                    with_regions(program, app.cuts, class(app))?
                }
            },
        });
    }
    let sized = pinned::sized(&rack, &programs)?;
    rack.apps.iter_mut().zip(sized).for_each(|(app, pinning)| app.pinning = pinning);
    let mut apps: Vec<ReadApp> = vec![];
    for (app, program) in rack.apps.iter().zip(programs) {
        let own = vec![(app.name.value.clone(), Arc::clone(&program))];
        let made = app.pinning.as_ref().map(|pinning| pinned::program(&program, app, pinning)).transpose()?;
        let hot = hot::program(&program, app)?;
        let (program, mut pinned) = match (made, hot) {
            (Some((program, pinned, unpinned)), _) => {
                (program, Some(PinnedApp { model: app.clone(), pinned, unpinned, share: None }))
            }
            (None, Some((program, pinned))) => (program, Some(pinned)),
            (None, None) => (program, None),
        };
        let mut entries = match generated(app) {
            Some((_, entries)) => {
                let name = format!("{}.stf", app.name.value);
                let base = sources::add(&name, entries, map).map_err(|problem| vec![problem])?;
                entries::read_text(Path::new(&name), entries, base, &program)?
            }
            None => read_entries(app.entries.as_ref(), &directory, &program, map)?,
        };
        found.append(&mut entries.warnings);
        let (program, mut entries) = entries::with_parameters(program, entries);
        let options = handlers::Options {
            files: app.handlers.iter().map(|file| directory.join(&file.value)).collect(),
            seed: rack.seed,
            ..handlers::Options::default()
        };
        // A program in CLIP's form is a source of handlers, too.
        let file = match app.program.value.ends_with(target_c::clip::ENDING) {
            true => directory.join(&app.program.value).display().to_string(),
            false => app.program.value.clone(),
        };
        let offers = handlers::offers(&program, &file, &options, map)?;
        found.extend(offers.warnings());
        if let Some(PinnedApp { pinned, unpinned, .. }) = &mut pinned {
            unpinned.fill(entries.writes(), pinned);
            entries = pinned::with_copies(entries, pinned);
        }
        let pinned = pinned.into_iter().collect();
        apps.push(ReadApp { program, entries, sharing: None, offers, pinned, own });
    }
    let apps = join_shared(&mut rack, apps, map)?;
    let mut rules = vec![];
    for path in &rack.plan.rules {
        let (text, base) = sources::read(&named(path, &directory)?, map).map_err(|found| vec![found])?;
        rules.push(RuleText { text, base, is_table: path.value.ends_with(".csv") });
    }
    let mut read = |device: DeviceId, path: &Spanned<String>| {
        let each = rack.apps_of(device).filter_map(|at| Some((at, apps.get(at)?)));
        let read = each.map(|(at, app)| {
            let entries = read_entries(Some(path), &directory, &app.program, map)?;
            Ok(((at, device.0 as usize), entries))
        });
        read.collect::<Result<Vec<_>, Vec<Diagnostic>>>()
    };
    let mut own_entries = BTreeMap::new();
    for (id, device) in (0..).map(DeviceId).zip(&rack.devices) {
        if let Some(path) = &device.entries {
            own_entries.extend(read(id, path)?);
        }
    }
    let mut stage_entries = vec![];
    for stage in &rack.stages {
        let mut added = vec![];
        for (device, path) in &stage.entries {
            added.extend(read(*device, path)?);
        }
        stage_entries.push(added);
    }
    let of_stages = stage_entries.iter_mut().flatten().map(|(_, entries)| entries);
    for entries in own_entries.values_mut().chain(of_stages) {
        found.append(&mut entries.warnings);
    }
    let captures = captures::read(&rack, &directory)?;
    Ok(Read { rack, apps, rules, own_entries, stage_entries, captures, jobs, directory, warnings: found })
}

/// The program of each app with the app's name, as the apps are before any of them are merged.
pub fn app_programs(
    path: &Path,
    extra_defines: &[String],
    map: &mut SourceMap,
) -> Result<Vec<(String, Arc<Program>)>, Vec<Diagnostic>> {
    let (rack, file, mut found) = model(path, map)?;
    let directory = directory(&file);
    let program = |app: &App| {
        let program = compile_app(app, &directory, extra_defines, &Disk, map, &mut found)?;
        Ok((app.name.value.clone(), program))
    };
    rack.apps.iter().map(program).collect()
}

/// The directory of a file.
pub(crate) fn directory(file: &Path) -> PathBuf {
    file.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A RACK.toml (or the one in a directory), its path, and warnings.
pub(crate) fn model(
    path: &Path,
    map: &mut SourceMap,
) -> Result<(Rack, PathBuf, Vec<Diagnostic>), Vec<Diagnostic>> {
    let file = rack_file(path).map_err(|d| vec![d])?;
    let (text, base) = sources::read(&file, map).map_err(|d| vec![d])?;
    match rack_model::read_rack(&text, base) {
        (Some(rack), found) => Ok((rack, file, found)),
        (None, found) => Err(found),
    }
}

/// Apps that share a device become one, with all their entries.
pub(super) fn join_shared(
    rack: &mut Rack,
    apps: Vec<ReadApp>,
    map: &mut SourceMap,
) -> Result<Vec<ReadApp>, Vec<Diagnostic>> {
    let groups = merged::groups(rack);
    if groups.len() == apps.len() {
        return Ok(apps);
    }
    let (mut models, mut joined) = (vec![], vec![]);
    for group in &groups {
        if let [alone] = group.as_slice() {
            models.push(rack.apps[*alone].clone());
            joined.push(apps[*alone].clone());
            continue;
        }
        let sharer = |at: &usize| {
            let has_regions = apps[*at].pinned.iter().any(|pinned| pinned.pinned.region.is_some());
            merged::sharer(&rack.apps[*at], &apps[*at].program, has_regions)
        };
        let sharers: Vec<Sharer<'_>> = group.iter().map(sharer).collect();
        let name = merged::name(rack, group);
        let Joined { program, sharing, .. } = merged::join(&sharers, &name, map)?;
        let model = merged::stand_in(rack, group, name, &sharing);
        let pinned = group.iter().zip(&sharing.apps).flat_map(|(at, (share, _))| {
            let with = |pinned: &PinnedApp| PinnedApp { share: Some(share.clone()), ..pinned.clone() };
            apps[*at].pinned.iter().map(with)
        });
        let pinned = pinned.collect();
        let own = |at: &usize| (apps[*at].entries.clone(), rack.apps[*at].span);
        // Merged programs have no handlers of their own.
        let offers = Offers::default();
        let own: Vec<(Entries, base_diag::Span)> = group.iter().map(own).collect();
        joined.push(ReadApp {
            program,
            entries: merged::entries(&sharing, &own)?,
            sharing: Some(sharing),
            offers,
            pinned,
            own: group.iter().flat_map(|at| apps[*at].own.clone()).collect(),
        });
        models.push(model);
    }
    rack.apps = models;
    Ok(joined)
}

/// Entries from a file beside the rack's; none if no file is named.
pub(super) fn read_entries(
    path: Option<&Spanned<String>>,
    directory: &Path,
    program: &Arc<Program>,
    map: &mut SourceMap,
) -> Result<Entries, Vec<Diagnostic>> {
    path.map_or(Ok(Entries::default()), |path| entries::read(&named(path, directory)?, program, map))
}

/// The file of a rack: the one that is named, or the one in the directory that is named.
pub(super) fn rack_file(path: &Path) -> Result<PathBuf, Diagnostic> {
    if path.extension().is_some_and(|extension| extension == "p4") && path.is_file() {
        let title = "a P4 program is not a rack";
        return Err(Diagnostic::error(codes::UNREADABLE_FILE, title)
            .note(format!("`{}` is one", path.display()))
            .help("a RACK.toml names it under `[[app]]`: `docs/tutorial.md` writes one")
            .help("`p4rack run` and `p4rack switch` take a program as it is"));
    }
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join("RACK.toml");
    if file.exists() {
        return Ok(file);
    }
    let diagnostic = Diagnostic::error(codes::UNREADABLE_FILE, "the directory has no RACK.toml")
        .note(format!("there is no `{}`", file.display()));
    Err(match sources::first_with(path, "toml") {
        Some(other) => diagnostic.help(format!("did you mean `{}`?", other.display())),
        None => diagnostic
            .help("`p4rack generate-rack star -o DIR` writes one; `docs/tutorial.md` explains its contents"),
    })
}

/// A file that the rack's names, if it can be read.
pub(super) fn named(path: &Spanned<String>, directory: &Path) -> Result<PathBuf, Vec<Diagnostic>> {
    let file = directory.join(&path.value);
    match sources::text(&file) {
        Ok(_) => Ok(file),
        Err(why) => Err(vec![sources::unreadable(&file, why).at(path.span, "named here, beside this file")]),
    }
}
