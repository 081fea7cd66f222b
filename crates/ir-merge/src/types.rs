//! Declarations of all apps: types, errors, externs. Equal ones are declared once; the names of others get the app's prefix.

use crate::ids::Ids;
use crate::scan;
use base_diag::Span;
use ir::{ErrorId, ExternFunctionId, ExternId, Name, Program, Type, TypeDecl, TypeId};
use std::collections::{BTreeMap, BTreeSet};

/// Declarations so far.
#[derive(Default)]
pub struct Declarations {
    pub types: Vec<TypeDecl>,
    /// App that declares the type first.
    type_owner: Vec<usize>,
    pub errors: Vec<Name>,
    pub externs: Vec<ir::ExternObject>,
    extern_owner: Vec<usize>,
    pub extern_functions: Vec<ir::ExternFunction>,
    function_owner: Vec<usize>,
}

impl Declarations {
    /// Adds those of app number `app`, whose code gets their numbers.
    pub fn add(&mut self, app: usize, program: &Program, ids: &mut Ids) {
        for name in &program.errors {
            let known = self.errors.iter().position(|error| error == name);
            ids.errors.push(ErrorId::from(known.unwrap_or(self.errors.len())));
            if known.is_none() {
                self.errors.push(name.clone());
            }
        }
        let digests = digest_types(program);
        for (at, decl) in program.types.iter().enumerate() {
            let mut decl = decl.clone();
            ids.type_kind(&mut decl.kind);
            let is_equal = |known: &TypeDecl| {
                known.name == decl.name && known.kind == decl.kind && known.annotations == decl.annotations
            };
            // A digest has the name of its type: each app's are its own.
            let known =
                if digests.contains(&TypeId::from(at)) { None } else { self.types.iter().position(is_equal) };
            ids.types.push(TypeId::from(known.unwrap_or(self.types.len())));
            if known.is_none() {
                self.types.push(decl);
                self.type_owner.push(app);
            }
        }
        for object in &program.externs {
            let mut object = ir::ExternObject { span: Span::NONE, ..object.clone() };
            object.constructors.iter_mut().flatten().for_each(|param| ids.ty(&mut param.ty));
            for method in &mut object.methods {
                method.span = Span::NONE;
                ids.signature(&mut method.signature);
            }
            let known = self.externs.iter().position(|known| *known == object);
            ids.externs.push(ExternId::from(known.unwrap_or(self.externs.len())));
            if known.is_none() {
                self.externs.push(object);
                self.extern_owner.push(app);
            }
        }
        for function in &program.extern_functions {
            let mut function = ir::ExternFunction { span: Span::NONE, ..function.clone() };
            ids.signature(&mut function.signature);
            let known = self.extern_functions.iter().position(|known| *known == function);
            ids.extern_functions.push(ExternFunctionId::from(known.unwrap_or(self.extern_functions.len())));
            if known.is_none() {
                self.extern_functions.push(function);
                self.function_owner.push(app);
            }
        }
    }

    /// Gives prefixes to the names that several apps have for different things.
    pub fn rename(&mut self, prefixes: &[Name]) {
        let mut taken: BTreeSet<Name> = BTreeSet::new();
        let types = self.types.iter_mut().map(|decl| &mut decl.name).zip(&self.type_owner);
        distinguish(types.collect(), prefixes, &mut taken);
        let own = self.externs.iter_mut().zip(&self.extern_owner).filter(|(object, _)| object.user);
        distinguish(own.map(|(object, owner)| (&mut object.name, owner)).collect(), prefixes, &mut taken);
        // Overloads of one app keep their common name.
        let mut owners: BTreeMap<Name, BTreeSet<usize>> = BTreeMap::new();
        for (function, owner) in self.extern_functions.iter().zip(&self.function_owner) {
            owners.entry(function.name.clone()).or_default().insert(*owner);
        }
        for (function, owner) in self.extern_functions.iter_mut().zip(&self.function_owner) {
            if function.user && owners.get(&function.name).is_some_and(|owners| owners.len() > 1) {
                function.name = format!("{}_{}", prefixes[*owner], function.name).into();
            }
        }
    }

    /// A name that no type has.
    pub fn free_type_name(&self, wanted: &str) -> Name {
        let is_free = |name: &String| !self.types.iter().any(|decl| decl.name == *name);
        let numbered = (2..).map(|n| format!("{wanted}_{n}"));
        std::iter::once(wanted.to_string()).chain(numbered).find(is_free).unwrap_or_default().into()
    }
}

/// Prefixes for the names that occur twice.
fn distinguish(names: Vec<(&mut Name, &usize)>, prefixes: &[Name], taken: &mut BTreeSet<Name>) {
    let mut count: BTreeMap<Name, u32> = BTreeMap::new();
    for (name, _) in &names {
        *count.entry(Name::clone(name)).or_default() += 1;
    }
    taken.extend(count.iter().filter(|(_, n)| **n == 1).map(|(name, _)| name.clone()));
    for (name, owner) in names {
        if count.get(name).is_some_and(|n| *n > 1) {
            let wanted = format!("{}_{name}", prefixes[*owner]);
            let numbered = (2..).map(|n| format!("{wanted}_{n}"));
            let free = std::iter::once(wanted.clone()).chain(numbered).map(Name::from);
            *name = { free }.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.insert(name.clone());
        }
    }
}

/// The types of which the program sends digests.
fn digest_types(program: &Program) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    scan::extern_calls(program, &mut |name, call| {
        if let ("digest", [Type::Named(id)]) = (name, call.type_args.as_slice()) {
            found.insert(*id);
        }
    });
    found
}
