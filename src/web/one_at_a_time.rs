//! What one call at a time has to itself, also while it waits. A second call finds nothing there and is refused.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::rc::{Rc, Weak};

/// The place of a value that calls take and give back. Clones are the same place.
pub(super) struct OneAtATime<T>(Rc<Cell<Option<Box<T>>>>);

/// A place that does not keep its value.
pub(super) struct WeakPlace<T>(Weak<Cell<Option<Box<T>>>>);

/// The value while a call has it. It goes back when this is dropped.
pub(super) struct Taken<T> {
    value: Option<Box<T>>,
    place: OneAtATime<T>,
}

impl<T> OneAtATime<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Rc::new(Cell::new(Some(Box::new(value)))))
    }

    /// The value; `None` while another call has it.
    pub(super) fn take(&self) -> Option<Taken<T>> {
        let value = self.0.take()?;
        Some(Taken { value: Some(value), place: self.clone() })
    }

    /// The value without its place; `None` where another call has it, or another clone of the place is left.
    pub(super) fn into_inner(self) -> Option<T> {
        Rc::into_inner(self.0)?.into_inner().map(|value| *value)
    }

    pub(super) fn downgrade(&self) -> WeakPlace<T> {
        WeakPlace(Rc::downgrade(&self.0))
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Clone for OneAtATime<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> WeakPlace<T> {
    /// The place, as long as somebody else has it.
    pub(super) fn upgrade(&self) -> Option<OneAtATime<T>> {
        self.0.upgrade().map(OneAtATime)
    }
}

impl<T> Deref for Taken<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until the drop")
    }
}

impl<T> DerefMut for Taken<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is there until the drop")
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        self.place.0.set(self.value.take());
    }
}
