/* Everything at once. */
#ifndef SKIFF_SKIFF_H
#define SKIFF_SKIFF_H

#include <skiff/build.h>
#include <skiff/call.h>
#include <skiff/collective.h>
#include <skiff/control.h>
#include <skiff/eager.h>
#include <skiff/executor.h>
#include <skiff/fleet.h>
#include <skiff/importance.h>
#include <skiff/io.h>
#include <skiff/layers.h>
#include <skiff/metric.h>
#include <skiff/metrics.h>
#include <skiff/mode.h>
#include <skiff/net.h>
#include <skiff/optimizer.h>
#include <skiff/predict.h>
#include <skiff/prepare.h>
#include <skiff/run.h>
#include <skiff/status.h>
#include <skiff/thread_pool.h>
#include <skiff/train.h>
#include <skiff/trainer.h>
#include <skiff/transpile.h>
#include <skiff/tune.h>
#include <skiff/version.h>

#endif
