//! What a class makes of the class that it extends: with the arguments of its own `super(…)`.

use rustc_hash::FxHashMap;

use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::catalog::ClientOptions;
use crate::parse::{ClassId, Expr, ExprId, MemberKind, ParsedFile};

impl Evaluator<'_, '_> {
    /// The client that an instance of a class is which extends a vendor's: of the options that its `super(…)` gives.
    /// Where it is made by whoever makes the class, a package that others than its vendor answer as well may be pointed
    /// anywhere, and so may one of which the class says its own address.
    pub(super) fn made_by_subclass(&mut self, base: &Value, file: FileId, class: ClassId, extends: ExprId) -> Value {
        let call = self.super_call(file, class);
        let made = self.instance(base, file, call.unwrap_or(extends));
        for vendor in made.vendors() {
            let options = &self.catalog.package_of(self.catalog.shape(vendor.shape).package).client_options;
            let is_hidden = call.is_none() && options.spoken_elsewhere;
            if let Some(client) = vendor.client
                && !options.any_host
                && (is_hidden || self.sends_elsewhere(options, file, class))
            {
                self.clients.hide(client);
            }
        }
        made
    }

    /// Whether a class says its own address, or has something in the place of what makes its requests.
    fn sends_elsewhere(&mut self, options: &ClientOptions, file: FileId, class: ClassId) -> bool {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return false };
        if options.base_url.iter().any(|name| self.has_field(file, class, name)) {
            return true;
        }
        it.members.iter().filter(|member| !member.is_static).any(|member| {
            let name = parsed.name(member.name);
            match member.kind {
                MemberKind::Getter(_) => options.base_url.iter().any(|key| key == name),
                MemberKind::Method(function) => {
                    options.requests.iter().any(|key| key == name) && !self.hands_on(file, function, 0)
                }
                MemberKind::Field(_, value) => {
                    options.requests.iter().any(|key| key == name)
                        && value.is_none_or(|value| self.may_redirect(file, value))
                }
            }
        })
    }

    /// A member that a class has of the one that it extends, where that is given what it holds: of several classes that
    /// give it different clients, the one that this class gives.
    pub(super) fn as_this_class_gives_it(
        &mut self,
        member: Value,
        base: &Value,
        name: &str,
        (file, class): (FileId, ClassId),
    ) -> Value {
        let &Value::Instance(there, extended) = base else { return member };
        let may_be_given = match member {
            Value::Unknown => self.has_field(there, extended, name),
            _ => member.vendors().next().is_some(),
        };
        if !may_be_given {
            return member;
        }
        let Some(call) = self.super_call(file, class) else { return member };
        let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return member };
        if arguments.iter().any(|argument| argument.spread) {
            return member;
        }
        let Some(constructor) = self.constructor_of(there, extended) else { return member };
        let given = self.inside(constructor, file, arguments, |this| this.member(base, name));
        if given.vendors().next().is_some() { given } else { member }
    }

    fn has_field(&self, file: FileId, class: ClassId, name: &str) -> bool {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return false };
        let is_field = |kind: MemberKind| matches!(kind, MemberKind::Field(..));
        let mut fields = it.members.iter().filter(|member| !member.is_static && is_field(member.kind));
        fields.any(|member| parsed.name(member.name) == name)
            || it.assigned.iter().any(|(key, _)| parsed.name(*key) == name)
    }

    /// The call by which a class makes the part of it that the class which it extends makes.
    fn super_call(&mut self, file: FileId, class: ClassId) -> Option<ExprId> {
        let parsed = self.world.file(file).parsed;
        self.supers.entry(file).or_insert_with(|| super_calls(parsed)).get(&class).copied()
    }
}

/// The `super(…)` of the classes of a file.
pub(super) fn super_calls(parsed: &ParsedFile) -> FxHashMap<ClassId, ExprId> {
    let mut supers = FxHashMap::default();
    for call in &parsed.calls {
        if let Expr::Call { callee, .. } = parsed.expr(call.expr)
            && let Expr::Super(Some(class)) = *parsed.expr(*callee)
        {
            supers.insert(class, call.expr);
        }
    }
    supers
}
