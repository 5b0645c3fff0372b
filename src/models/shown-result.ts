import type { AttachmentRef } from '../contract/transcript.js';
import type { AnsweredCall } from './conversation.js';
import type { ModelRequest } from './model.js';

export interface ShownImage {
  /** Says which call the image belongs to. */
  label: string;
  mediaType: string;
  bytes: Uint8Array;
}

/** A tool result as a model is sent it. */
export interface ShownResult {
  /** The rendered outcome unchanged, with a line for each attachment that is not shown. */
  text: string;
  /**
   * For a user message after all results of the turn. Not inside the result, although some providers could: Chat
   * Completions takes text only there, and the AI SDK's converter for it writes the picture's base64 as prose.
   */
  images: ShownImage[];
}

/** Loads a result's images where the model takes them; says in words what cannot be shown. */
export async function showResult(
  { call, result }: AnsweredCall,
  options: { takesImages: boolean; loadBody: ModelRequest['loadBody'] },
): Promise<ShownResult> {
  const images: ShownImage[] = [];
  const notes: string[] = [];
  for (const attachment of result.attachments ?? []) {
    const shown = await loadImage(attachment, options);
    if (typeof shown === 'string') notes.push(`[${describe(attachment)}: not shown, because ${shown}]`);
    else {
      const label = `${describe(attachment)} returned by ${call.modelName} (call ${call.providerCallId}):`;
      images.push({ label, mediaType: attachment.mediaType, bytes: shown });
    }
  }
  return { text: [result.content, ...notes].join('\n'), images };
}

async function loadImage(
  attachment: AttachmentRef,
  options: { takesImages: boolean; loadBody: ModelRequest['loadBody'] },
): Promise<Uint8Array | string> {
  if (!attachment.mediaType.startsWith('image/')) return 'it is not an image';
  if (!options.takesImages) return 'this model does not read images';
  return (await options.loadBody(attachment.bodyId)) ?? 'it is no longer stored';
}

function describe(attachment: AttachmentRef): string {
  return `${attachment.mediaType}, ${attachment.bytes} bytes`;
}
