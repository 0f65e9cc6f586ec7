/** What js/vue uses of Vue, so that the package compiles without it. */
declare module 'vue' {
  export interface ShallowRef<T> {
    value: T;
  }
  export interface ComputedRef<T> {
    readonly value: T;
  }
  export type MaybeRefOrGetter<T> = T | ShallowRef<T> | ComputedRef<T> | (() => T);
  export function computed<T>(get: () => T): ComputedRef<T>;
  export function onScopeDispose(end: () => void): void;
  export function shallowRef<T>(value: T): ShallowRef<T>;
  export function toValue<T>(given: MaybeRefOrGetter<T>): T;
  export function watchEffect(
    effect: (onCleanup: (end: () => void) => void) => void,
    options: { flush: 'post' | 'sync' },
  ): void;
}
